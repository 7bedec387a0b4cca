"""What to do when the GPUs that are held are not those that have to be.

What watches report may be late, and each of them on its own. So a difference is only acted upon when it was seen
before: by an earlier look, or by one at what the watches report and one at the server itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from stromboli.binding.reservations.demand import SharingPod
from stromboli.binding.reservations.reservation_pods import SharedGpu


class ReservationFault(Enum):
    #: A pod holds a GPU that nobody shares.
    IDLE = "idle"
    #: A pod that should hold a GPU has ended.
    ENDED = "ended"
    #: Pods share a GPU that nobody holds for them.
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class ReservationState:
    """A reservation pod."""

    place: SharedGpu
    name: str
    uid: str
    has_ended: bool = False
    is_leaving: bool = False


@dataclass(frozen=True, slots=True)
class ReservationDifference:
    """What is wrong with which GPU. Another pod in the same place is another difference."""

    fault_kind: ReservationFault
    place: SharedGpu
    held: ReservationState | None = None


@dataclass(frozen=True, slots=True)
class Repairs:
    """Instructions, and what was seen: to be handed to the next look."""

    delete: tuple[ReservationState, ...]
    create: tuple[SharedGpu, ...]
    seen: frozenset[ReservationDifference]


def differences(
    required_gpus: Mapping[SharedGpu, Collection[SharingPod]], existing: Iterable[ReservationState]
) -> frozenset[ReservationDifference]:
    """Who is leaving is seen to already. Who is only about to share a GPU has it held by whoever binds him."""
    here = list(existing)
    holding = {held.place for held in here if held.is_leaving or not held.has_ended}
    staying = [held for held in here if not held.is_leaving]
    ended = [ReservationDifference(ReservationFault.ENDED, held.place, held) for held in staying if held.has_ended]
    idle = [
        ReservationDifference(ReservationFault.IDLE, held.place, held)
        for held in staying
        if held.place not in required_gpus and not held.has_ended
    ]
    missing = [
        ReservationDifference(ReservationFault.MISSING, place)
        for place, sharing in required_gpus.items()
        if place not in holding and any(member.is_bound for member in sharing)
    ]
    return frozenset((*ended, *idle, *missing))


def repairs(
    required_gpus: Mapping[SharedGpu, Collection[SharingPod]],
    existing: Iterable[ReservationState],
    seen_before: Collection[ReservationDifference],
) -> Repairs:
    """What has been wrong for two looks is put right."""
    seen = differences(required_gpus, existing)
    lasting = sorted(
        (each for each in seen if each in seen_before), key=lambda each: (each.fault_kind.value, each.place)
    )
    return Repairs(
        delete=tuple(each.held for each in lasting if each.held is not None),
        create=tuple(each.place for each in lasting if each.fault_kind is ReservationFault.MISSING),
        seen=seen,
    )
