"""Events about binds: on the pod and on its group, with the reason of every failed attempt."""

from __future__ import annotations

from stromboli.binding.requests.decisions import Decision
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects.bind_requests import BindRequest, BoundPod
from stromboli.kube.objects.event import ObjectReference
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.volcano import GROUP

#: The maximum number of members that the event of a group names; the other members have their own events.
MAX_NAMED_PODS = 3


class BindEvents:
    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    def bound(self, placement: Placement) -> None:
        pod = _pod(placement.namespace, placement.name, placement.uid)
        note = f"Successfully assigned {placement.key} to {placement.node}"
        self._record(pod, "Normal", "Scheduled", note, action="Binding")

    def attempt_failed(self, decision: Decision, problems: dict[str, str], attempt: int) -> None:
        """Record the reason on every pod, and the first few of them on the group."""
        notes = []
        for request, member in decision.members():
            if member.pod_uid in problems:
                note = f"failed to bind to node {member.selected_node}: {problems[member.pod_uid]}"
                self._record(_member(request, member), "Warning", "BindingError", note, action="Binding")
                notes.append(f"pod {member.pod_name} {note}")
        if notes and decision.first.spec.pod_group:
            more = f"; and {len(notes) - MAX_NAMED_PODS} more pods" if len(notes) > MAX_NAMED_PODS else ""
            prefix = f"attempt {attempt}: " if attempt else ""
            note = f"{prefix}{'; '.join(notes[:MAX_NAMED_PODS])}{more}"
            self._record(_group(decision.first), "Warning", "BindingError", note)

    def unwinding_started(self, decision: Decision, reason: str) -> None:
        note = f"the gang could not be completed, and its bound pods are evicted: {reason}"
        self._record(_group(decision.first), "Warning", "HalfBound", note)

    def evicted(self, request: BindRequest, member: BoundPod, reason: str) -> None:
        note = f"Pod is evicted, because its gang could not be completed: {reason}"
        self._record(_member(request, member), "Warning", "Evict", note, action="Evicting")

    def record(self, regarding: TopLevel, kind: str, reason: str, note: str) -> None:
        """Record an event of a plugin."""
        metadata, object_kind = regarding.metadata, type(regarding)
        version = regarding.api_version or (f"{object_kind.group}/v1" if object_kind.group else "v1")
        namespace, uid = metadata.namespace or None, metadata.uid or None
        reference = ObjectReference(version, object_kind.kind_name, namespace, metadata.name, uid)
        self._record(reference, kind, reason, note)

    def _record(self, regarding: ObjectReference, kind: str, reason: str, note: str, action: str = "") -> None:
        if regarding.name:
            self._recorder.record(regarding, type=kind, reason=reason, note=note, action=action)


def _member(request: BindRequest, member: BoundPod) -> ObjectReference:
    return _pod(request.metadata.namespace, member.pod_name, member.pod_uid)


def _pod(namespace: str, name: str, uid: str) -> ObjectReference:
    return ObjectReference(api_version="v1", kind="Pod", namespace=namespace, name=name, uid=uid)


def _group(request: BindRequest) -> ObjectReference:
    """Return the PodGroup of a request; without a name for a pod without a group."""
    spec = request.spec
    owners = request.metadata.owner_references or ()
    version = next((owner.api_version for owner in owners if owner.kind == "PodGroup"), None)
    return ObjectReference(
        api_version=version or f"{GROUP}/v1beta1",
        kind="PodGroup",
        namespace=request.metadata.namespace,
        name=spec.pod_group,
        uid=spec.pod_group_uid or None,
    )
