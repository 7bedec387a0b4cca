"""The live view on a terminal, or one line per change elsewhere."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from stromboli.cli.output import escape_controls
from stromboli.cli.text.live.cycles import CycleLog
from stromboli.cli.text.live.frame import JobRow, take_frame
from stromboli.cli.text.live.rows import clock
from stromboli.cli.text.live.screen import View, rendered
from stromboli.cli.text.tables import is_styled

if TYPE_CHECKING:
    from stromboli.scheduler.loop import Scheduler

_PAUSE = 0.2
#: The pause after a frame, as a multiple of its duration: the cluster runs in the same process.
_PAUSE_PER_FRAME = 10.0


class LiveView:
    """Shows a running scheduler. The caption may change at any time."""

    def __init__(self, scheduler: Scheduler, title: str, footer: str = "") -> None:
        self._scheduler = scheduler
        self._title, self._footer = title, footer
        self._began = time.monotonic()
        self.caption = ""
        self.cycles = CycleLog(scheduler.cluster, self.elapsed)
        scheduler.observers.append(self.cycles.observe)

    def elapsed(self) -> float:
        return time.monotonic() - self._began

    def take(self) -> View:
        """Return what is shown at this moment."""
        frame = take_frame(self._scheduler.cluster, self.cycles)
        self.cycles.compare(frame)
        return View(frame, self._title, self.elapsed(), self.caption, self._footer, tuple(self.cycles.events))

    async def run(self) -> None:
        """Show the state until cancelled: on a terminal, or as one line per change."""
        with _shown() as show:
            await self.run_with(show)

    async def run_with(self, show: Callable[[View], None]) -> None:
        """Pass the state to `show` until cancelled, and once more at the end."""
        try:
            while True:
                began = time.perf_counter()
                show(self.take())
                await asyncio.sleep(max(_PAUSE, _PAUSE_PER_FRAME * (time.perf_counter() - began)))
        finally:
            show(self.take())


@contextmanager
def _shown() -> Iterator[Callable[[View], None]]:
    """Show a screen on a terminal, and one line per change otherwise."""
    from rich.console import Console, Group
    from rich.live import Live

    console = Console(highlight=False, color_system="auto" if is_styled() else None)
    if not console.is_terminal:
        yield ChangePrinter().show
        return
    with Live(console=console, screen=True, auto_refresh=False) as live:
        yield lambda view: live.update(Group(*rendered(view, *console.size)), refresh=True)


class ChangePrinter:
    """Prints what changed since the last frame: the caption, events, and the state of jobs."""

    def __init__(self) -> None:
        self._caption = ""
        self._last_event = 0
        self._jobs: dict[str, str] = {}

    def show(self, view: View) -> None:
        lines = []
        if view.caption != self._caption:
            lines.append(view.caption)
            self._caption = view.caption
        lines += [f"{event.subject}: {event.message}" for event in view.events if event.number > self._last_event]
        self._last_event = view.events[-1].number if view.events else 0
        for job in view.frame.jobs:
            text = _described(job)
            if self._jobs.get(job.key) != text:
                self._jobs[job.key] = text
                lines.append(text)
        for line in lines:
            click.echo(f"{clock(view.elapsed)} {escape_controls(line)}")


def _described(job: JobRow) -> str:
    done = f", {job.succeeded} succeeded" if job.succeeded else ""
    pods = f"{job.running} of {max(job.pods, job.minimum)} pods running{done}"
    return f"{job.name}: {job.phase}, {pods}" + (f": {job.reason}" if job.reason else "")
