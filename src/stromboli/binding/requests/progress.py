"""How far a member has come, read from the pod and the node as they are now, never from memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from stromboli.binding.plugins.plugin import Bind
from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.decisions import Decision
from stromboli.kube.objects.bind_requests import (
    FAILED,
    RECEIVED_RESOURCE_TYPE,
    BindRequest,
    BoundPod,
)
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.pod import Pod

#: On a pod, with its Binding: the request that it was bound by. Nothing else is ever taken back.
BOUND_BY = "stromboli.dev/bind-request"
_OVER = ("Succeeded", "Failed")


@dataclass(slots=True)
class GangProgress:
    """The members of a decision by how far they have come, each by uid."""

    #: Those that have a node, with the words to be said about it; ours are those that this decision bound.
    placed: dict[str, str] = field(default_factory=dict)
    ours: set[str] = field(default_factory=set)
    #: Those that cannot be bound any more, with the reason.
    impossible: dict[str, str] = field(default_factory=dict)
    #: Those that are still to be bound, in their order.
    open: dict[str, Bind] = field(default_factory=dict)

    def can_reach(self, needed: int) -> bool:
        return len(self.placed) + len(self.open) >= needed

    def give_up(self, problems: dict[str, str]) -> None:
        """These will not be bound."""
        for uid, words in problems.items():
            if self.open.pop(uid, None) is not None:
                self.impossible[uid] = words


def judge(decision: Decision, sight: BinderClusterView) -> GangProgress:
    progress = GangProgress()
    for request in decision.requests:
        given_up = {each.pod_uid: each.reason for each in request.status.pods if each.phase == FAILED}
        for member in request.spec.pods:
            if member.pod_uid in decision.bound and sight.pod(member.pod_uid) is not None:
                progress.placed[member.pod_uid] = ""
                progress.ours.add(member.pod_uid)
            else:
                _place(progress, request, member, sight, given_up.get(member.pod_uid))
    for uid, problem in decision.problems.items():
        if problem.is_final:
            progress.give_up({uid: problem.words})
    return progress


def _place(
    progress: GangProgress, request: BindRequest, member: BoundPod, sight: BinderClusterView, given_up: str | None
) -> None:
    uid, pod = member.pod_uid, sight.pod(member.pod_uid)
    if pod is not None and pod.spec.node_name:
        progress.placed[uid] = placement_message(pod, member)
        if is_ours(pod, request, member):
            progress.ours.add(uid)
        return
    node = sight.node(member.selected_node)
    obstacle = _obstacle(request, member, pod, node, sight)
    if given_up is not None or obstacle:
        progress.impossible[uid] = given_up or obstacle
    elif pod is not None and node is not None:
        progress.open[uid] = bind_of(request, member, pod, node)


def _obstacle(
    request: BindRequest, member: BoundPod, pod: Pod | None, node: KubeNode | None, sight: BinderClusterView
) -> str:
    """What makes it impossible to bind a pod that has no node, in words; empty if nothing does."""
    if pod is None:
        other = sight.get(Pod, f"{request.metadata.namespace}/{member.pod_name}")
        return "the pod is gone, and another one has taken its name" if other else "the pod is gone"
    if pod.metadata.namespace != request.metadata.namespace:
        return f"the pod is in namespace {pod.metadata.namespace}, and a request binds only pods of its own"
    if pod.metadata.deletion_timestamp is not None:
        return "the pod is being deleted"
    if pod.status.phase in _OVER:
        return f"the pod is over: {pod.status.phase}"
    if pod.spec.scheduling_gates:
        gates = ", ".join(gate.name or "" for gate in pod.spec.scheduling_gates)
        return f"the pod has scheduling gates: {gates}"
    if node is None:
        return f"node {member.selected_node} is gone"
    if node.metadata.deletion_timestamp is not None:
        return f"node {member.selected_node} is being deleted"
    return ""


def precondition_error_of(bind: Bind, sight: BinderClusterView) -> str:
    """What has come in the way of a bind since it was begun."""
    pod, node = sight.pod(bind.member.pod_uid), sight.node(bind.member.selected_node)
    return _obstacle(bind.request, bind.member, pod, node, sight)


def placement_message(pod: Pod, member: BoundPod) -> str:
    """What is to be said of a pod that has a node: nothing, if it is the one that was chosen."""
    if pod.spec.node_name == member.selected_node:
        return ""
    return f"somebody else bound the pod to node {pod.spec.node_name}"


def is_ours(pod: Pod, request: BindRequest, member: BoundPod) -> bool:
    """Whether this very request bound the pod, and it stands there still."""
    mark = (pod.metadata.annotations or {}).get(BOUND_BY)
    return mark == request.metadata.name and pod.spec.node_name == member.selected_node


def bind_of(request: BindRequest, member: BoundPod, pod: Pod | None = None, node: KubeNode | None = None) -> Bind:
    """What plugins are given. Of who is gone there is only the name."""
    metadata = request.metadata
    annotations = {**member.annotations, BOUND_BY: metadata.name}
    if member.received_resource_type:
        annotations[RECEIVED_RESOURCE_TYPE] = member.received_resource_type
    gone = Pod(metadata=ObjectMeta(member.pod_name, metadata.namespace, member.pod_uid))
    nowhere = KubeNode(metadata=ObjectMeta(member.selected_node))
    return Bind(request, member, pod or gone, node or nowhere, annotations, dict(member.labels))
