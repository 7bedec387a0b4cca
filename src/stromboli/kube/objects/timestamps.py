"""The time of day as the API writes it, for people to read; nothing is decided by it."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """To the microsecond, as leases and events have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
