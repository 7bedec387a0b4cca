"""Which shared GPUs have to be held: those of pods that stand on nodes, and those of binds that are decided.

Only what we wrote counts: what travelled with the binding of a pod, and what bind requests say. What tenants may write
on their pods keeps no GPU and frees none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from stromboli.binding.reservations.reservation_pods import SharedGpu
from stromboli.core.model.devices.gpu_fractions import groups_in
from stromboli.kube.objects.bind_requests import BOUND, FAILED, SUCCEEDED, UNWOUND, BindRequest, BoundPod
from stromboli.kube.objects.pod import Pod

_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class SharingPod:
    """A pod that shares GPUs of a node, or is about to. Of one that is only decided, the name is not always known."""

    uid: str
    node: str
    groups: tuple[str, ...]
    namespace: str = ""
    name: str = ""
    #: Whether it stands on the node.
    is_bound: bool = False
    #: Whether it was bound once, as its request says: then the pod was known, and if it is not any more, it is gone.
    was_bound: bool = False

    @property
    def places(self) -> list[SharedGpu]:
        return [SharedGpu(self.node, group) for group in self.groups]


def member_of(pod: Pod, namespace: str) -> SharingPod | None:
    """A pod on a node as a member of groups; None for one that is none. Reservation pods, in `namespace`, are not."""
    node, metadata = pod.spec.node_name, pod.metadata
    if not node or metadata.namespace == namespace or (pod.status.phase or "") in _ENDED:
        return None
    groups = groups_in(metadata.annotations)
    return SharingPod(metadata.uid, node, groups, metadata.namespace, metadata.name, is_bound=True) if groups else None


def decided_in(request: BindRequest) -> list[SharingPod]:
    """The members that a bind request is about to bind, or has bound."""
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
    """The groups of a member of a request, by the field or by what travels with its binding."""
    return tuple(member.selected_gpu_groups) or groups_in(member.annotations)


PodLookup = Callable[[str, str], Pod | None]


def is_expected(member: SharingPod, pod: Pod | None) -> bool:
    """Whether a decided member may yet stand on its node. One that is not known at all may only be late; another pod of
    its name has taken its place; and one that stands somewhere speaks for itself.
    """
    if pod is None:
        return not member.was_bound
    return pod.metadata.uid == member.uid and not pod.spec.node_name and (pod.status.phase or "") not in _ENDED


def required_gpus(
    pods: Iterable[Pod],
    requests: Iterable[BindRequest],
    pending: Iterable[SharingPod],
    known: PodLookup,
    namespace: str,
) -> Mapping[SharedGpu, tuple[SharingPod, ...]]:
    """The GPUs that have to be held, each with who shares it. `under_way` are binds that this process knows of, and
    `known` finds a pod by namespace and name.
    """
    decided = [*pending, *(member for request in requests for member in decided_in(request))]
    members = [each for each in decided if is_expected(each, known(each.namespace, each.name))]
    members += [bound for pod in pods if (bound := member_of(pod, namespace)) is not None]
    places: dict[SharedGpu, dict[str, SharingPod]] = {}
    for member in members:
        for place in member.places:
            places.setdefault(place, {})[member.uid] = member
    return {place: tuple(who for _, who in sorted(sharing.items())) for place, sharing in places.items()}
