"""The results that a cycle passes on besides placements: nominations, reservations and past evictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Older evictions are dropped, in seconds, and the oldest beyond a number.
MAX_HISTORY_AGE = 24 * 3600.0
MAX_HISTORY = 10_000


@dataclass(frozen=True, slots=True)
class Reservation:
    """Capacity that a pending job will have once other jobs end, kept free from then on."""

    job: str
    #: Expected start and end of the job, in seconds since the epoch; infinite if the start is not known.
    start: float
    end: float
    #: Reserved node by task uid.
    places: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PastEviction:
    """An eviction of one job in favour of another."""

    preemptor: str
    victim: str
    #: The queue that lost resources to another queue; empty within one queue.
    queue: str
    #: Seconds since the epoch.
    at: float
    #: The queue for which it happened.
    preemptor_queue: str = ""


@dataclass(frozen=True, slots=True)
class CycleCarryover:
    #: Nominated node by pod uid.
    nominations: Mapping[str, str]
    #: Capacity reserved for a pending job, by job key.
    reservations: Mapping[str, Reservation]
    #: The victim and the preemptor of each recent eviction.
    eviction_history: Sequence[PastEviction]
