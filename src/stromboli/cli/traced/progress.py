"""The progress of a comparison on a terminal: finished runs, and when the last one is expected to end."""

from __future__ import annotations

import sys
import time

import click


class ComparisonProgress:
    """A line that is rewritten with each finished run, and removed at the end."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._known, self._done = total, done, done
        self._shows = sys.stderr.isatty()
        self._began = time.monotonic()

    def __enter__(self) -> ComparisonProgress:
        self._echo()
        return self

    def __exit__(self, *_: object) -> None:
        if self._shows:
            click.echo("\r\033[K", nl=False, err=True)

    def advance(self) -> None:
        self._done += 1
        self._echo()

    def _echo(self) -> None:
        if self._shows:
            click.echo(f"\r\033[K{self.line(time.monotonic())}", nl=False, err=True)

    def line(self, now: float) -> str:
        """Return the text of the line. Runs that are left take as long as those that have ended, on average."""
        text = f"{self._done} of {self._total} runs"
        if ended := self._done - self._known:
            from stromboli.core.model.values.times import format_length

            left = (now - self._began) / ended * (self._total - self._done)
            return f"{text}, about {format_length(left)} left"
        return f"{text}, {self._known} of them kept from before" if self._known else text
