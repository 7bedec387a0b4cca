"""Repairs of differences between reserved GPUs and those that have to be reserved.

Watches may lag, each on its own. So a difference is acted upon only if it was seen before: by an earlier check, or by
one of the watches and one of the API server.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from stromboli.binding.reservations.demand import SharingPod
from stromboli.binding.reservations.reservation_pods import SharedGpu


class ReservationFault(Enum):
    #: A reservation pod holds a GPU that no pod shares.
    IDLE = "idle"
    #: A reservation pod has ended.
    ENDED = "ended"
    #: Pods share a GPU without a reservation pod.
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class ReservationState:
    """A reservation pod."""

    gpu: SharedGpu
    name: str
    uid: str
    has_ended: bool = False
    is_leaving: bool = False


@dataclass(frozen=True, slots=True)
class ReservationDifference:
    """A fault in the reservation of a GPU. Each reservation pod for the same GPU is a separate difference."""

    fault_kind: ReservationFault
    gpu: SharedGpu
    held: ReservationState | None = None


@dataclass(frozen=True, slots=True)
class Repairs:
    """The pods to delete and create, and the differences to pass to the next check."""

    delete: tuple[ReservationState, ...]
    create: tuple[SharedGpu, ...]
    seen: frozenset[ReservationDifference]


def differences(
    required: Mapping[SharedGpu, Collection[SharingPod]], existing: Iterable[ReservationState]
) -> frozenset[ReservationDifference]:
    """Compare reservations. Terminating pods are ignored; the bind itself reserves for new pods."""
    states = list(existing)
    holding = {held.gpu for held in states if held.is_leaving or not held.has_ended}
    staying = [held for held in states if not held.is_leaving]
    ended = [ReservationDifference(ReservationFault.ENDED, held.gpu, held) for held in staying if held.has_ended]
    idle = [
        ReservationDifference(ReservationFault.IDLE, held.gpu, held)
        for held in staying
        if held.gpu not in required and not held.has_ended
    ]
    missing = [
        ReservationDifference(ReservationFault.MISSING, gpu)
        for gpu, sharing in required.items()
        if gpu not in holding and any(member.is_bound for member in sharing)
    ]
    return frozenset((*ended, *idle, *missing))


def repairs(
    required: Mapping[SharedGpu, Collection[SharingPod]],
    existing: Iterable[ReservationState],
    seen_before: Collection[ReservationDifference],
) -> Repairs:
    """Return repairs for differences that two checks have seen."""
    seen = differences(required, existing)
    persistent = sorted(
        (each for each in seen if each in seen_before), key=lambda each: (each.fault_kind.value, each.gpu)
    )
    return Repairs(
        delete=tuple(each.held for each in persistent if each.held is not None),
        create=tuple(each.gpu for each in persistent if each.fault_kind is ReservationFault.MISSING),
        seen=seen,
    )
