"""Moments: seconds since the epoch as dates that can be written down."""

from datetime import UTC, datetime

#: The last day that a date can be written for.
_END_OF_TIME = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def date_of(moment: float) -> datetime:
    """The date of a moment; of those that no date is for, the last one."""
    return datetime.fromtimestamp(min(moment, _END_OF_TIME), UTC)


def written(moment: float) -> str:
    """A moment as Kubernetes writes it, to the second."""
    return date_of(moment).strftime("%Y-%m-%dT%H:%M:%SZ")
