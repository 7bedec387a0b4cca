"""Timestamps: seconds since the epoch as dates that can be formatted."""

from datetime import UTC, datetime

#: The last day that a date can represent.
_END_OF_TIME = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def date_of(moment: float) -> datetime:
    """Convert a timestamp to a date; beyond the last representable day, return that day."""
    return datetime.fromtimestamp(min(moment, _END_OF_TIME), UTC)


def written(moment: float) -> str:
    """Format a timestamp as Kubernetes does, to the second."""
    return date_of(moment).strftime("%Y-%m-%dT%H:%M:%SZ")
