"""When to run the next cycle: soon after a relevant change, and periodically otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

#: Every waiting write lengthens the pause by this, in seconds: the writes of further decisions would wait behind it.
PAUSE_PER_WRITE = 0.001
#: The longest pause for the number of waiting writes.
MAX_BACKLOG_PAUSE = 1.0
#: While any write waits, a pause is as long as the cycle, up to this: nothing is written during a cycle.
MAX_WRITE_PAUSE = 5.0


def shortest_pause(seconds: float, *, writes: int) -> float:
    """The shortest pause after a cycle that took so many seconds, while this many binds and evictions wait."""
    if not writes:
        return 0.0
    return max(min(writes * PAUSE_PER_WRITE, MAX_BACKLOG_PAUSE), min(seconds, MAX_WRITE_PAUSE))


class CycleTrigger:
    """Starts a cycle when changes have paused for `debounce` seconds, at most `max_wait` seconds after the first one.

    After `pause` it starts none until the pause is over, so that cycles leave time for binds and writes.
    """

    def __init__(self, clock: Callable[[], float], *, debounce: float, max_wait: float = 0.25) -> None:
        self._clock = clock
        self._debounce = debounce
        self._max_wait = max(max_wait, debounce)
        self._notified = asyncio.Event()
        self._first = 0.0
        self._last = 0.0
        self._paused_until = 0.0
        #: Whether an object has changed since the last cycle, relevant enough to trigger a cycle or not.
        self.has_changes = True

    def pause(self, seconds: float, *, at_least: float = 0.0) -> None:
        """Start no cycle for this many seconds, at most `max_wait`, but `at_least` so many."""
        self._paused_until = self._clock() + max(min(seconds, self._max_wait), at_least)

    def mark(self) -> None:
        """Record a change: the next periodic check runs a cycle."""
        self.has_changes = True

    def notify(self) -> None:
        """Record a relevant change: run a cycle soon."""
        self.mark()
        now = self._clock()
        if not self._notified.is_set():
            self._first = now
            self._notified.set()
        self._last = now

    async def wait(self, timeout: float) -> bool:
        """Wait until a cycle is to run; return False when none was requested within the timeout."""
        try:
            async with asyncio.timeout(timeout):
                await self._notified.wait()
        except TimeoutError:
            return False
        while (delay := self._delay()) > 0:
            await asyncio.sleep(delay)
        self._notified.clear()
        return True

    def _delay(self) -> float:
        due = min(self._last + self._debounce, self._first + self._max_wait)
        return max(due, self._paused_until) - self._clock()
