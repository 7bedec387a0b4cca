"""Events of the scheduler, with the reasons and messages that Volcano's tools look for."""

from __future__ import annotations

from collections.abc import Sequence

from stromboli import kube
from stromboli.binding.orders import EvictOrder
from stromboli.cluster.ingest.ingest import Quarantined
from stromboli.cluster.objects.pod_groups.native_pod_groups import NativeGroup
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects.event import ObjectReference
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.volcano import GROUP
from stromboli.scheduler.reporting.patches import PendingPodStatus

_GROUP_VERSION = f"{GROUP}/v1beta1"


class EventAnnouncer:
    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    # -- jobs ---------------------------------------------------------------------------------------------------

    def pod_group_scheduled(self, group: kube.PodGroup) -> None:
        self._recorder.record(reference(group), type="Normal", reason="Scheduled", note="pod group is ready")

    def pod_group_unschedulable(self, group: kube.PodGroup, message: str) -> None:
        self._recorder.record(reference(group), type="Warning", reason="Unschedulable", note=message)

    def pod_group_half_bound(self, group: kube.PodGroup, message: str) -> None:
        self._recorder.record(reference(group), type="Warning", reason="HalfBound", note=message)

    def job_set_aside(self, group: kube.PodGroup, message: str) -> None:
        self._recorder.record(reference(group), type="Warning", reason="SchedulingTooExpensive", note=message)

    def domain_lost(self, group: kube.PodGroup, message: str) -> None:
        self._recorder.record(reference(group), type="Warning", reason="DomainLost", note=message)

    def no_binder(self, group: kube.PodGroup, message: str) -> None:
        self._recorder.record(reference(group), type="Warning", reason="NoBinder", note=message)

    def binding_late(self, group: kube.PodGroup, message: str) -> None:
        self._recorder.record(reference(group), type="Warning", reason="BindingLate", note=message)

    # -- queues -------------------------------------------------------------------------------------------------

    def guarantee_reduced(self, queue: kube.KubeQueue, message: str) -> None:
        note = f"spec.guarantee.resource: {message}"
        self._recorder.record(reference(queue), type="Warning", reason="GuaranteeReduced", note=note)

    def budget_threshold(self, queue: kube.KubeQueue, note: str) -> None:
        self._recorder.record(reference(queue), type="Warning", reason="BudgetThreshold", note=note)

    # -- pods ---------------------------------------------------------------------------------------------------

    def pod_unschedulable(self, pod: kube.Pod, waits: PendingPodStatus) -> None:
        self._recorder.record(reference(pod), type="Warning", reason="FailedScheduling", note=waits.message)

    def pod_bound(self, pod: kube.Pod, node: str) -> None:
        note = f"Successfully assigned {pod.key} to {node}"
        self._recorder.record(reference(pod), type="Normal", reason="Scheduled", note=note, action="Binding")

    def bind_failed(self, pod: kube.Pod, group: kube.PodGroup | None, problem: str) -> None:
        """Record an event on the group; the pod itself has a condition."""
        if group is not None:
            note, related = f"pod {pod.key} {problem}", reference(pod)
            self._recorder.record(reference(group), type="Warning", reason="BindFailed", note=note, related=related)

    # -- evictions ----------------------------------------------------------------------------------------------

    def evicts(
        self, pod: kube.Pod, order: EvictOrder, group: kube.PodGroup | None, preemptor: kube.PodGroup | None
    ) -> None:
        """Record events on the victim, on its group and on the preemptor's group."""
        favour = f" in favour of {order.preemptor}" if order.preemptor else ""
        note = f"Pod is evicted, because of {order.reason}{favour}"
        related = reference(preemptor) if preemptor else None
        self._recorder.record(
            reference(pod), type="Warning", reason="Evict", note=note, action="Evicting", related=related
        )
        if group is not None:
            note = f"{order.reason}: pod {order.key} is evicted{favour}"
            self._recorder.record(reference(group), type="Normal", reason="Evict", note=note, related=related)
        if preemptor is not None:
            note = f"{order.reason}: pod {order.key} is evicted to free capacity"
            self._recorder.record(
                reference(preemptor), type="Normal", reason="Evict", note=note, related=reference(pod)
            )

    def nominated(self, pod: kube.Pod, node: str, victims: Sequence[EvictOrder]) -> None:
        """Record an event on the pod for which victims leave a node."""
        names = ", ".join(order.key for order in victims)
        pods = f"pod {names} is" if len(victims) == 1 else f"{len(victims)} pods ({names}) are"
        note = f"{victims[0].reason}: {pods} evicted to free capacity on {node}"
        self._recorder.record(reference(pod), type="Normal", reason="Evict", note=note, action="Evicting")

    def eviction_failed(self, pod: kube.Pod, order: EvictOrder, problem: str, preemptor: kube.PodGroup | None) -> None:
        note = f"Eviction because of {order.reason} failed: {problem}"
        self._recorder.record(reference(pod), type="Warning", reason="EvictFailed", note=note)
        if preemptor is not None:
            note = f"{order.reason}: pod {order.key} cannot be evicted: {problem}"
            self._recorder.record(reference(preemptor), type="Warning", reason="EvictFailed", note=note)

    # -- the policy ---------------------------------------------------------------------------------------------

    def policy_rejected(self, process: ObjectReference, problem: str) -> None:
        note = f"the last valid configuration stays active: {problem}"
        self._recorder.record(process, type="Warning", reason="ConfigurationRejected", note=note)

    def policy_warning(self, process: ObjectReference, warning: str) -> None:
        self._recorder.record(process, type="Warning", reason="ConfigurationWarning", note=warning)

    def node_overcommitted(self, node: ObjectReference, note: str) -> None:
        self._recorder.record(node, type="Warning", reason="NodeOvercommitted", note=note)

    # -- objects that cannot be used ----------------------------------------------------------------------------

    def object_invalid(self, quarantined: Quarantined) -> None:
        namespace, _, name = quarantined.key.rpartition("/")
        regarding = ObjectReference(
            api_version=quarantined.api_version,
            kind=quarantined.kind,
            namespace=namespace or None,
            name=name,
            uid=quarantined.uid or None,
        )
        self._recorder.record(regarding, type="Warning", reason="InvalidObject", note=quarantined.problem)


def reference(entry: TopLevel) -> ObjectReference:
    """Return the reference of an object."""
    if isinstance(entry, NativeGroup):
        entry = entry.origin
    metadata, kind = entry.metadata, type(entry)
    version = entry.api_version or {"": "v1", GROUP: _GROUP_VERSION}.get(kind.group, f"{kind.group}/v1")
    return ObjectReference(
        api_version=version,
        kind=kind.kind_name,
        namespace=metadata.namespace or None,
        name=metadata.name,
        uid=metadata.uid or None,
    )
