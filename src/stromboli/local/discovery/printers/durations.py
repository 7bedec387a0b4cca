"""Durations in `kubectl` style: the two largest units, the second only while it matters."""

from __future__ import annotations

from datetime import datetime

UNKNOWN = "<unknown>"

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY


def parse_time(text: object) -> datetime | None:
    """Parse a timestamp; None if it is invalid."""
    if not isinstance(text, str) or not text:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def age(text: object, now: datetime) -> str:
    """The time since a timestamp."""
    moment = parse_time(text)
    if moment is None or moment.tzinfo is None:
        return UNKNOWN
    return human_duration((now - moment).total_seconds())


def human_duration(seconds: float) -> str:
    """`45s`, `3m12s`, `47m`, `5h3m`, `12h`, `4d2h`, `30d`, `2y40d`."""
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole >= -1 else "<invalid>"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _pair(whole // _MINUTE, "m", whole % _MINUTE, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _pair(whole // _HOUR, "h", whole % _HOUR // _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _pair(whole // _DAY, "d", whole % _DAY // _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _pair(whole // _YEAR, "y", whole % _YEAR // _DAY, "d")
    return f"{whole // _YEAR}y"


def _pair(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
