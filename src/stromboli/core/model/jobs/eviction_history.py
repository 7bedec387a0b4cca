"""History of evictions in favour of other jobs."""

from dataclasses import dataclass

#: Older evictions are dropped, in seconds.
MAX_HISTORY_AGE = 3600.0


@dataclass(frozen=True, slots=True)
class PastEviction:
    """An eviction of one job in favour of another."""

    preemptor: str
    victim: str
    #: The queue that lost resources to another queue; empty within one queue.
    queue: str
    #: Seconds since the epoch.
    at: float
