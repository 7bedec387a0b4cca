"""The time as objects carry it."""

from __future__ import annotations

import datetime


def now() -> str:
    return stamp(datetime.datetime.now(datetime.UTC))


def seconds_from_now(seconds: int) -> str:
    return stamp(datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds))


def stamp(moment: datetime.datetime) -> str:
    """To the second, in UTC, as `metav1.Time` is written."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
