"""What a cycle hands to the following ones besides its placements: nominated nodes, reservations and past evictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stromboli.core.model.jobs.eviction_history import PastEviction
from stromboli.core.model.jobs.reservation import Reservation


@dataclass(frozen=True, slots=True)
class CycleCarryover:
    #: Nominated node by pod uid.
    promises: Mapping[str, str]
    #: Capacity reserved for a pending job, by job key.
    reservations: Mapping[str, Reservation]
    #: Which jobs were evicted for which others.
    eviction_history: Sequence[PastEviction]
