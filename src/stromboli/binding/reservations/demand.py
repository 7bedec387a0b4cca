"""The shared GPUs that have to be reserved: those of pods on nodes, and those of binds in progress.

Only what this product wrote counts: annotations written with the binding, and bind requests. Annotations that tenants
write on their pods reserve no GPU and release none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from stromboli.binding.reservations.reservation_pods import SharedGpu
from stromboli.core.model.devices.gpu_fractions import groups_in
from stromboli.kube.objects.bind_requests import BOUND, FAILED, SUCCEEDED, UNWOUND, BindRequest, BoundPod
from stromboli.kube.objects.pod import Pod


@dataclass(frozen=True, slots=True)
class SharingPod:
    """A pod that shares GPUs of a node, or is being bound there; the name may be unknown before."""

    uid: str
    node: str
    groups: tuple[str, ...]
    namespace: str = ""
    name: str = ""
    #: Whether the pod is on the node.
    is_bound: bool = False
    #: Whether the bind request reports the pod as bound: a pod that is then unknown was deleted.
    was_bound: bool = False

    @property
    def gpus(self) -> list[SharedGpu]:
        return [SharedGpu(self.node, group) for group in self.groups]


def member_of(pod: Pod, namespace: str) -> SharingPod | None:
    """Return a pod on a node that shares GPUs; None for others, and for reservation pods, which are in `namespace`."""
    node, metadata = pod.spec.node_name, pod.metadata
    if not node or metadata.namespace == namespace or pod.status.is_finished:
        return None
    groups = groups_in(metadata.annotations)
    return SharingPod(metadata.uid, node, groups, metadata.namespace, metadata.name, is_bound=True) if groups else None


def decided_in(request: BindRequest) -> list[SharingPod]:
    """Return the members that a bind request is binding or has bound."""
    if request.status.phase == FAILED:
        return []
    phases = {each.pod_uid: each.phase for each in request.status.pods}
    gone = {uid for uid, phase in phases.items() if phase in (FAILED, UNWOUND)}
    namespace, is_over = request.metadata.namespace, request.status.phase == SUCCEEDED
    return [
        SharingPod(
            each.pod_uid, each.selected_node, groups, namespace, each.pod_name,
            was_bound=is_over or phases.get(each.pod_uid) == BOUND,
        )
        for each in request.spec.pods
        if (groups := gpu_groups_of(each)) and each.pod_uid not in gone
    ]  # fmt: skip


def gpu_groups_of(member: BoundPod) -> tuple[str, ...]:
    """Return the GPU groups of a member, from the field or from the annotations."""
    return tuple(member.selected_gpu_groups) or groups_in(member.annotations)


PodLookup = Callable[[str, str], Pod | None]


def is_expected(member: SharingPod, pod: Pod | None) -> bool:
    """Report whether a pod that is being bound may still arrive on its node. An unknown pod may be new; another pod of
    the same name has replaced it; and a pod on a node is counted there.
    """
    if pod is None:
        return not member.was_bound
    return pod.metadata.uid == member.uid and not pod.spec.node_name and not pod.status.is_finished


def required_gpus(
    pods: Iterable[Pod],
    requests: Iterable[BindRequest],
    pending: Iterable[SharingPod],
    known: PodLookup,
    namespace: str,
) -> Mapping[SharedGpu, tuple[SharingPod, ...]]:
    """Return the GPUs to reserve, each with the pods that share it. `pending` are binds of this process, and `known`
    finds a pod by namespace and name.
    """
    decided = [*pending, *(member for request in requests for member in decided_in(request))]
    members = [each for each in decided if is_expected(each, known(each.namespace, each.name))]
    members += [bound for pod in pods if (bound := member_of(pod, namespace)) is not None]
    shared: dict[SharedGpu, dict[str, SharingPod]] = {}
    for member in members:
        for gpu in member.gpus:
            shared.setdefault(gpu, {})[member.uid] = member
    return {gpu: tuple(pod for _, pod in sorted(pods_of.items())) for gpu, pods_of in shared.items()}
