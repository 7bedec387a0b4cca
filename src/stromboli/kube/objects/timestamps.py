"""The time of day as the API writes it, for people to read; nothing is decided by it."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """To the microsecond, as leases and events have it."""
    return f"{datetime.now(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
