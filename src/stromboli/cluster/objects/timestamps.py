"""Timestamps of Kubernetes objects."""

from datetime import UTC, datetime


def seconds_of(timestamp: str | None) -> float:
    """Seconds since the epoch; 0 for a missing or invalid timestamp."""
    if not timestamp:
        return 0.0
    try:
        moment = datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
