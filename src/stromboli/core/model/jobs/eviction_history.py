"""Who had to make room for whom, and when."""

from dataclasses import dataclass

#: Nobody asks about what was longer ago, in seconds.
LONGEST_MEMORY = 3600.0


@dataclass(frozen=True, slots=True)
class Taking:
    """A job got room that another one had."""

    claimant: str
    victim: str
    #: The queue that lost something to another one; empty where both are of the same queue.
    queue: str
    #: Seconds since the epoch.
    at: float
