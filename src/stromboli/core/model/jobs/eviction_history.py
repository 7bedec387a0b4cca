"""Who had to make room for whom, and when."""

from dataclasses import dataclass

#: Nobody asks about what was longer ago, in seconds.
MAX_HISTORY_AGE = 3600.0


@dataclass(frozen=True, slots=True)
class PastEviction:
    """A job got room that another one had."""

    preemptor: str
    victim: str
    #: The queue that lost something to another one; empty where both are of the same queue.
    queue: str
    #: Seconds since the epoch.
    at: float
