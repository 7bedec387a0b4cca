"""BindRequests: the placements that they hold.

The pods of an open request count on their nodes, whichever scheduler decided it and whether or not the binder has
started. Requests and pods arrive in any order, so placements are stored by pod uid and count once both exist; a
recreated pod has another uid and inherits nothing. Once the pod itself names its node, its request no longer counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from stromboli.cluster.objects.claims.claim_allocations import choice_in
from stromboli.core.model.devices.claims import ClaimOrder
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.volumes.volumes import VolumeChoice, VolumeOrder
from stromboli.kube.objects.bind_requests import FAILED, SUCCEEDED, UNWOUND, BindRequest, BoundPod


class BindRequests:
    def __init__(self) -> None:
        self._requests: dict[str, BindRequest] = {}
        #: By pod uid, the placements by request, with their epochs; the latest one counts.
        self._placements: dict[str, dict[str, tuple[int, Placement]]] = {}

    def objects(self) -> Iterable[BindRequest]:
        return self._requests.values()

    def apply(self, request: BindRequest) -> set[str]:
        """Add or update a request; returns the uids of pods whose placement may have changed."""
        known = self._requests.get(request.key)
        if known is not None and not (is_over(known) or is_over(request)) and known.spec == request.spec:
            self._requests[request.key] = request  # progress changes no placement
            return set()
        changed = self.remove(request)
        self._requests[request.key] = request
        for member in _holding(request):
            placements = self._placements.setdefault(member.pod_uid, {})
            placements[request.key] = request.spec.epoch, placement_of(request, member)
            changed.add(member.pod_uid)
        return changed

    def remove(self, request: BindRequest) -> set[str]:
        """Remove a request; returns the uids of pods that it placed."""
        key = request.key
        known = self._requests.pop(key, None)
        changed = set()
        for member in known.spec.pods if known is not None else ():
            placements = self._placements.get(member.pod_uid, {})
            if placements.pop(key, None) is not None:
                changed.add(member.pod_uid)
                if not placements:
                    del self._placements[member.pod_uid]
        return changed

    def placement(self, uid: str) -> Placement | None:
        """The placement of a pod."""
        placements = self._placements.get(uid)
        return max(placements.items(), key=lambda each: (each[1][0], each[0]))[1][1] if placements else None


def is_over(request: BindRequest) -> bool:
    """Report whether the request is final. An unknown phase is not."""
    return request.status.phase in (SUCCEEDED, FAILED)


def relevant_fields(request: BindRequest) -> tuple[object, ...]:
    """The placements; progress of the binder changes none before the end."""
    return request.spec, is_over(request) and [member.pod_uid for member in _holding(request)]


def _holding(request: BindRequest) -> Iterable[BoundPod]:
    """Members with a placement: of a succeeded request, which may arrive before its pods, only the bound ones."""
    if request.status.phase == FAILED:
        return ()
    if request.status.phase != SUCCEEDED:
        return request.spec.pods
    lost = {each.pod_uid for each in request.status.pods if each.phase in (FAILED, UNWOUND)}
    return [member for member in request.spec.pods if member.pod_uid not in lost]


def placement_of(request: BindRequest, member: BoundPod) -> Placement:
    """The placement that a member of a request describes."""
    volumes = tuple(VolumeChoice(choice.claim, choice.volume) for choice in member.volumes)
    found = (choice_in(each.name, each.allocation) for each in member.resource_claim_allocations if each.allocation)
    devices = tuple(choice for choice in found if choice is not None)
    return Placement(
        uid=member.pod_uid,
        namespace=request.metadata.namespace,
        name=member.pod_name,
        job=f"{request.metadata.namespace}/{request.spec.pod_group}",
        node=member.selected_node,
        annotations=member.annotations,
        volumes=VolumeOrder(volumes, member.volume_seconds) if volumes else None,
        devices=ClaimOrder(choices=devices) if devices else None,
        labels=member.labels,
    )
