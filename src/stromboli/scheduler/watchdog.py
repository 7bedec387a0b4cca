"""The watchdog of the scheduling loop: detects in a thread of its own that a cycle does not advance any more.

A plugin that never returns cannot be interrupted safely. The process gives up its lease instead, with a note which job
it was working on, and exits: a standby, or the process that replaces it, sets that job aside. A C function that never
releases the interpreter's lock stops this thread too; then the lease expires, and the liveness probe ends the process.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import NamedTuple

#: How often progress is checked, as a part of the limit, and at most, in seconds.
CHECKS = 10
MAX_INTERVAL = 1.0


class Progress(NamedTuple):
    """The point that a cycle has reached; it changes with every turn of a job."""

    cycle: int
    job: str
    since: float


class Watchdog:
    """Calls `stuck` once, in its own thread, when the same progress was seen for `limit` seconds."""

    def __init__(self, progress: Callable[[], Progress | None], limit: float, stuck: Callable[[str, float], None]):
        self._progress = progress
        self._limit = limit
        self._stuck = stuck
        self._interval = min(limit / CHECKS, MAX_INTERVAL)
        self._stopped = threading.Event()
        self._seen: Progress | None = None
        self._elapsed = 0.0
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def problem(self) -> str | None:
        """Return what the loop is stuck at, from half of the limit on."""
        seen, elapsed = self._seen, self._elapsed
        if seen is None or elapsed < self._limit / 2:
            return None
        return f"the cycle has been {_place(seen.job)} for {elapsed:.0f} s, the limit is {self._limit:g} s"

    def _run(self) -> None:
        last = time.monotonic()
        while not self._stopped.wait(self._interval):
            now = time.monotonic()
            if self.tick(now - last):
                return
            last = now

    def tick(self, seconds: float) -> bool:
        """Check progress so many seconds after the last check; report whether the loop is stuck.

        A process that was suspended sees a long interval, in which the loop did not run either: it counts little.
        """
        progress = self._progress()
        if progress is None or progress != self._seen:
            self._seen, self._elapsed = progress, 0.0
            return False
        self._elapsed += min(seconds, 2 * self._interval)
        if self._elapsed < self._limit:
            return False
        self._stuck(progress.job, self._elapsed)
        return True


def _place(job: str) -> str:
    return f"at job {job}" if job else "at work for all jobs"


def where_thread_is(thread: int) -> str:
    """The innermost frames of a thread, for the log."""
    frame = sys._current_frames().get(thread)
    frames = traceback.extract_stack(frame)[-3:] if frame is not None else []
    return " > ".join(f"{each.name} ({each.filename}:{each.lineno})" for each in frames)
