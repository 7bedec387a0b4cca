"""Options for times: the current time, and an end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click

from stromboli.cli.options.settings import DURATION


class Timestamp(click.ParamType[float]):
    """A time in the format of RFC 3339, as seconds since the epoch."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from stromboli.kube.objects.timestamps import seconds_of

        if isinstance(value, float):
            return value
        moment = seconds_of(value) if "T" in value else None
        if moment is None:
            self.fail(f"{value!r} is not a time such as 2026-01-01T12:00:00Z", param, ctx)
        return moment


class Since(click.ParamType[float]):
    """A duration before the present as a negative number, or a time."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        try:
            return TIMESTAMP.convert(value, param, ctx) if "T" in value else -DURATION.convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not a duration such as 30d, a time such as 2026-01-01T12:00:00Z, or 0", param, ctx)


TIMESTAMP, SINCE = Timestamp(), Since()


def moment_of(since: float, now: float) -> float:
    """Return the moment that a value of `SINCE` means; the beginning of time for 0."""
    return since if since > 0 else now + since if since else 0.0


def now_option(about: str) -> Callable[[Any], Any]:
    return click.option("--now", type=TIMESTAMP, metavar="TIME", help=about)


def clock_unless(now: float | None) -> float:
    """Return the time of an option, by default that of the clock."""
    return time.time() if now is None else now
