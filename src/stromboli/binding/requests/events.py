"""Events about binds: on the pod and on its group, with the reason of every attempt that failed."""

from __future__ import annotations

from stromboli.binding.requests.decisions import Decision
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects.bind_requests import BindRequest, BoundPod
from stromboli.kube.objects.event import ObjectReference
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.volcano import GROUP

#: So many members are named in the event of a group; the pods themselves say the rest.
MAX_NAMED_PODS = 3


class BindEvents:
    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    def bound(self, request: BindRequest, member: BoundPod) -> None:
        where = f"{request.metadata.namespace}/{member.pod_name} to {member.selected_node}"
        self._tell(_pod(request, member), "Normal", "Scheduled", f"Successfully assigned {where}", action="Binding")

    def attempt_failed(self, decision: Decision, problems: dict[str, str], attempt: int) -> None:
        """Tell every pod why, and their group of the first few of them."""
        told = []
        for request, member in decision.members():
            if member.pod_uid in problems:
                words = f"failed to bind to node {member.selected_node}: {problems[member.pod_uid]}"
                self._tell(_pod(request, member), "Warning", "BindingError", words, action="Binding")
                told.append(f"pod {member.pod_name} {words}")
        if told and decision.first.spec.pod_group:
            more = f"; and {len(told) - MAX_NAMED_PODS} more pods" if len(told) > MAX_NAMED_PODS else ""
            which = f"attempt {attempt}: " if attempt else ""
            note = f"{which}{'; '.join(told[:MAX_NAMED_PODS])}{more}"
            self._tell(_group(decision.first), "Warning", "BindingError", note)

    def unwinding_started(self, decision: Decision, reason: str) -> None:
        note = f"the gang could not be completed, and what was bound is evicted again: {reason}"
        self._tell(_group(decision.first), "Warning", "HalfBound", note)

    def evicted(self, request: BindRequest, member: BoundPod, reason: str) -> None:
        note = f"Pod is evicted, because its gang could not be completed: {reason}"
        self._tell(_pod(request, member), "Warning", "Evict", note, action="Evicting")

    def tell(self, regarding: TopLevel, kind: str, reason: str, note: str) -> None:
        """What a plugin has to say."""
        self._tell(_reference(regarding), kind, reason, note)

    def _tell(self, regarding: ObjectReference, kind: str, reason: str, note: str, action: str = "") -> None:
        if regarding.name:
            self._recorder.record(regarding, type=kind, reason=reason, note=note, action=action)


def _pod(request: BindRequest, member: BoundPod) -> ObjectReference:
    namespace = request.metadata.namespace
    return ObjectReference(api_version="v1", kind="Pod", namespace=namespace, name=member.pod_name, uid=member.pod_uid)


def _group(request: BindRequest) -> ObjectReference:
    """The group that was decided on; for a pod without one, nobody."""
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


def _reference(entry: TopLevel) -> ObjectReference:
    metadata, kind = entry.metadata, type(entry)
    version = entry.api_version or (f"{kind.group}/v1" if kind.group else "v1")
    return ObjectReference(
        api_version=version, kind=kind.kind_name, namespace=metadata.namespace or None, name=metadata.name,
        uid=metadata.uid or None,
    )  # fmt: skip
