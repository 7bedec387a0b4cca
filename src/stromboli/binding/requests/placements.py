"""Placements and members of bind requests, converted into each other."""

from __future__ import annotations

import msgspec

from stromboli.cluster.objects.bind_requests import placement_of
from stromboli.core.model.devices.gpu_fractions import RECEIVED, WHOLE, Received, received_in
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.objects.bind_requests import (
    RECEIVED_RESOURCE_TYPE,
    REGULAR,
    BindRequest,
    BoundPod,
    ChosenVolume,
    ClaimAllocation,
    ReceivedGPU,
)

#: On a pod, with its Binding: the request that it was bound by. Only pods with this annotation are rolled back.
BOUND_BY = "stromboli.dev/bind-request"


def bound_placement(request: BindRequest, member: BoundPod) -> Placement:
    """The placement that a bind request specifies, with everything that the binding adds to the pod.

    Devices are left out: the binder writes allocations, and does not account for devices.
    """
    annotations = {**member.annotations, BOUND_BY: request.metadata.name}
    if member.received_resource_type:
        annotations[RECEIVED_RESOURCE_TYPE] = member.received_resource_type
    if member.selected_gpu_groups:
        portion = member.received_gpu.portion_milli if member.received_gpu else WHOLE
        annotations |= Received(tuple(member.selected_gpu_groups), portion).annotations()
    return msgspec.structs.replace(
        placement_of(request, member),
        annotations=annotations,
        devices=None,
        labels=dict(member.labels),
        allocations={each.name: each.allocation for each in member.resource_claim_allocations},
    )


def member_of(placement: Placement, whole_gpus: int = 0) -> BoundPod:
    """The member of a bind request that specifies a placement. `whole_gpus` is the number of unshared GPUs."""
    received, resource_type = received_in(placement.annotations), placement.annotations.get(RECEIVED, "")
    member = BoundPod(
        pod_name=placement.name,
        pod_uid=placement.uid,
        selected_node=placement.node,
        received_resource_type=resource_type,
        annotations=dict(placement.annotations),
        labels=dict(placement.labels),
    )
    if placement.volumes is not None:
        member.volumes = [ChosenVolume(choice.claim, choice.volume) for choice in placement.volumes.choices]
        member.volume_seconds = max(int(placement.volumes.timeout), 1)
    member.resource_claim_allocations = [
        ClaimAllocation(name, dict(allocation)) for name, allocation in placement.allocations.items()
    ]
    if received is not None:
        member.selected_gpu_groups = list(received.groups)
        member.received_gpu = ReceivedGPU(len(received.groups), received.portion)
    elif resource_type == REGULAR:
        member.received_gpu = ReceivedGPU(whole_gpus)
    return member
