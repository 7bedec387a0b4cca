"""Bind requests as the cache knows them: the rooms that they hold.

An open request is the truth about the future: its pods count on their nodes, whoever decided it and whether or not
anybody has begun to carry it out. Requests and pods come in any order, so what a request holds is kept by the uid of
the pod, and counts as soon as both are there; a pod of the same name that comes later has another uid and inherits
nothing. Once a pod says itself where it is, it is believed, and the request about it says nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stromboli import kube
from stromboli.cluster.objects.claims.claim_allocations import choice_in
from stromboli.cluster.objects.pods.device_requests import assignments_in
from stromboli.core.model.devices.claims import ClaimChoice
from stromboli.core.model.nodes.numa import PROCESSORS
from stromboli.core.model.volumes.volumes import VolumeChoice
from stromboli.kube.objects.bind_requests import FAILED, SUCCEEDED, UNWOUND, BindRequest, BoundPod


@dataclass(frozen=True, slots=True)
class Room:
    """What was decided about a pod that is being bound: its node, and what it is given there."""

    node: str
    #: Its processors, as it will be written on the pod.
    processors: str = ""
    #: Of what travels with the binding, what says which devices the pod was given.
    given: Mapping[str, str] = field(default_factory=dict)
    volumes: tuple[VolumeChoice, ...] = ()
    devices: tuple[ClaimChoice, ...] = ()


class RequestBook:
    def __init__(self) -> None:
        self._requests: dict[str, BindRequest] = {}
        #: By the uid of a pod, the requests that hold a room for it; of several the one that was decided last counts.
        self._rooms: dict[str, dict[str, tuple[int, Room]]] = {}
        #: Pods of other schedulers that wait. They take no room, unless a request holds one for them.
        self.strangers: dict[str, kube.Pod] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def objects(self) -> list[BindRequest]:
        return list(self._requests.values())

    def find(self, key: str) -> BindRequest | None:
        return self._requests.get(key)

    def apply(self, request: BindRequest) -> set[str]:
        """A request has come or changed; answers the uids of pods for which another room may be held now."""
        known = self._requests.get(request.key)
        if known is not None and not (is_over(known) or is_over(request)) and known.spec == request.spec:
            self._requests[request.key] = request  # how far it has come changes no room
            return set()
        touched = self.remove(request.key)
        self._requests[request.key] = request
        for member in _holding(request):
            rooms = self._rooms.setdefault(member.pod_uid, {})
            rooms[request.key] = request.spec.epoch, _room_of(member)
            touched.add(member.pod_uid)
        return touched

    def remove(self, key: str) -> set[str]:
        """A request is gone; answers the uids of pods for which it held rooms."""
        known = self._requests.pop(key, None)
        touched = set()
        for member in known.spec.pods if known is not None else ():
            rooms = self._rooms.get(member.pod_uid, {})
            if rooms.pop(key, None) is not None:
                touched.add(member.pod_uid)
                if not rooms:
                    del self._rooms[member.pod_uid]
        return touched

    def room(self, uid: str) -> Room | None:
        """What is held for a pod."""
        rooms = self._rooms.get(uid)
        return rooms[_latest(rooms)][1] if rooms else None


def is_over(request: BindRequest) -> bool:
    """Whether nothing more will be done about a request. A phase that nobody here knows is none of its ends."""
    return request.status.phase in (SUCCEEDED, FAILED)


def _latest(rooms: Mapping[str, tuple[int, Room]]) -> str:
    return max(rooms, key=lambda key: (rooms[key][0], key))


def _holding(request: BindRequest) -> Iterable[BoundPod]:
    """The members for which there is a room: all of an open request, those that were bound of one that succeeded, as
    it may be heard of before its pods are.
    """
    if request.status.phase == FAILED:
        return ()
    if request.status.phase != SUCCEEDED:
        return request.spec.pods
    lost = {each.pod_uid for each in request.status.pods if each.phase in (FAILED, UNWOUND)}
    return [member for member in request.spec.pods if member.pod_uid not in lost]


def _room_of(member: BoundPod) -> Room:
    return Room(
        member.selected_node,
        member.annotations.get(PROCESSORS, ""),
        assignments_in(member.annotations),
        tuple(VolumeChoice(choice.claim, choice.volume) for choice in member.volumes),
        _devices_of(member),
    )


def _devices_of(member: BoundPod) -> tuple[ClaimChoice, ...]:
    found = (choice_in(each.name, each.allocation) for each in member.resource_claim_allocations if each.allocation)
    return tuple(choice for choice in found if choice is not None)
