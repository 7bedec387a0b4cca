"""What a cycle leaves to those that follow, besides what becomes true of pods: promises, and who paid for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stromboli.core.model.jobs.eviction_history import PastEviction
from stromboli.core.model.jobs.reservation import Reservation


@dataclass(frozen=True, slots=True)
class CycleCarryover:
    #: By the uid of a pod, the node on which a room is held for it.
    promises: Mapping[str, str]
    #: By the key of a job that waits, the room that it will have later.
    reservations: Mapping[str, Reservation]
    #: Who had to make room for whom.
    eviction_history: Sequence[PastEviction]
