"""The progress of a decision's members, derived from pods and nodes as they are now, never from memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from stromboli.binding.gangs import GangStep, next_step
from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.decisions import Decision
from stromboli.binding.requests.placements import BOUND_BY, bound_placement
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.objects.bind_requests import FAILED, BindRequest, BoundPod
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.pod import Pod


@dataclass(slots=True)
class GangProgress:
    """The members of a decision by progress, each by uid."""

    #: Members with a node, each with a message if it is another node than the chosen one.
    placed: dict[str, str] = field(default_factory=dict)
    #: The placed members that this decision bound.
    bound_here: set[str] = field(default_factory=set)
    #: Members that cannot be bound any more, with the reason.
    impossible: dict[str, str] = field(default_factory=dict)
    #: Members that are still to be bound, in their order.
    open: dict[str, Placement] = field(default_factory=dict)

    def next_step(self, needed: int, ready: int | None = None) -> GangStep:
        """Return the next step, when `ready` of the open members can be bound now; by default all of them."""
        open_members = len(self.open)
        return next_step(
            needed,
            placed=len(self.placed),
            bound_here=len(self.bound_here),
            open_members=open_members,
            ready=open_members if ready is None else ready,
        )

    def give_up(self, problems: dict[str, str]) -> None:
        """Mark members as impossible to bind."""
        for uid, message in problems.items():
            if self.open.pop(uid, None) is not None:
                self.impossible[uid] = message


def progress_of(decision: Decision, view: BinderClusterView) -> GangProgress:
    progress = GangProgress()
    for request in decision.requests:
        failed = {each.pod_uid: each.reason for each in request.status.pods if each.phase == FAILED}
        for member in request.spec.pods:
            if member.pod_uid in decision.bound and view.pod(member.pod_uid) is not None:
                progress.placed[member.pod_uid] = ""
                progress.bound_here.add(member.pod_uid)
            else:
                _classify(progress, request, member, view, failed.get(member.pod_uid))
    for uid, problem in decision.problems.items():
        if problem.is_final:
            progress.give_up({uid: problem.message})
    return progress


def _classify(
    progress: GangProgress, request: BindRequest, member: BoundPod, view: BinderClusterView, failed: str | None
) -> None:
    uid, pod = member.pod_uid, view.pod(member.pod_uid)
    if pod is not None and pod.spec.node_name:
        is_elsewhere = pod.spec.node_name != member.selected_node
        progress.placed[uid] = f"another writer bound the pod to node {pod.spec.node_name}" if is_elsewhere else ""
        if was_bound_by(pod, request, member):
            progress.bound_here.add(uid)
        return
    node = view.node(member.selected_node)
    placement = bound_placement(request, member)
    error = _precondition_error(placement, pod, node, view)
    if failed is not None or error:
        progress.impossible[uid] = failed or error
    elif pod is not None and node is not None:
        progress.open[uid] = placement


def _precondition_error(placement: Placement, pod: Pod | None, node: KubeNode | None, view: BinderClusterView) -> str:
    """Return what makes it impossible to bind a pod without a node; empty if nothing does."""
    if pod is None:
        other = view.get(Pod, placement.key)
        return "the pod is gone, and another pod has its name" if other else "the pod is gone"
    if pod.metadata.namespace != placement.namespace:
        return f"the pod is in namespace {pod.metadata.namespace}, and a request binds only pods of its own namespace"
    if pod.metadata.deletion_timestamp is not None:
        return "the pod is being deleted"
    if pod.status.is_finished:
        return f"the pod has ended: {pod.status.phase}"
    if pod.spec.scheduling_gates:
        gates = ", ".join(gate.name or "" for gate in pod.spec.scheduling_gates)
        return f"the pod has scheduling gates: {gates}"
    if node is None:
        return f"node {placement.node} is gone"
    if node.metadata.deletion_timestamp is not None:
        return f"node {placement.node} is being deleted"
    return ""


def precondition_error_of(placement: Placement, view: BinderClusterView) -> str:
    """Return what has made a bind impossible since it was started; empty if nothing."""
    return _precondition_error(placement, view.pod(placement.uid), view.node(placement.node), view)


def was_bound_by(pod: Pod, request: BindRequest, member: BoundPod) -> bool:
    """Report whether exactly this request bound the pod to its node."""
    mark = (pod.metadata.annotations or {}).get(BOUND_BY)
    return mark == request.metadata.name and pod.spec.node_name == member.selected_node
