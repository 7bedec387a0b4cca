"""Timestamps as the API writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(seconds: float) -> str:
    """Seconds since the epoch as a timestamp in whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(text: str | None) -> float | None:
    """Parse a timestamp; None if absent or invalid."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
