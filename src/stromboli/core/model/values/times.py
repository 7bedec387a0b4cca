"""Durations as Kubernetes and Go write them (`1h30m`, `90s`, `1.5h`, `500ms`), and timestamps."""

import re
from datetime import UTC, datetime

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}

#: An upper limit that keeps the sum with a timestamp a valid timestamp.
_MAX_DURATION = 100 * 365 * 24 * 3600.0
#: The last day that a date can represent.
_END_OF_TIME = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def parse_duration(text: str) -> float:
    """Parse a duration above zero into seconds. Raises ValueError with the expected format."""
    parts = _PART.findall(text) if len(text) <= 64 else []
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text[:64]!r} is not a duration; write one such as 90s, 30m or 1h30m")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if not 0 < seconds <= _MAX_DURATION:
        raise ValueError(f"{text!r} is not between 0 and 100 years")
    return seconds


def duration_or_nothing(text: str) -> float:
    """Parse a duration that may be zero: `0` or `0s`."""
    return 0.0 if text in ("0", "0s") else parse_duration(text)


def date_of(moment: float) -> datetime:
    """Convert a timestamp to a date; beyond the last representable day, return that day."""
    return datetime.fromtimestamp(min(moment, _END_OF_TIME), UTC)


def format_timestamp(moment: float) -> str:
    """Format a timestamp as Kubernetes does, to the second."""
    return date_of(moment).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_length(seconds: float) -> str:
    """Format a duration for people, without small parts: `0s`, `12m30s`, `3h05m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"
