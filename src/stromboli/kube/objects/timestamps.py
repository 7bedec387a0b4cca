"""Wall-clock timestamps of API objects. Decisions do not depend on them."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """The current time to the microsecond, as in Leases and Events."""
    return f"{datetime.now(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
