"""Events about what the scheduler does: reasons and words that tools which know Volcano's look for."""

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

    def domain_lost(self, group: kube.PodGroup, message: str) -> None:
        self._recorder.record(reference(group), type="Warning", reason="DomainLost", note=message)

    def no_binder(self, group: kube.PodGroup, message: str) -> None:
        self._recorder.record(reference(group), type="Warning", reason="NoBinder", note=message)

    def binding_late(self, group: kube.PodGroup, message: str) -> None:
        self._recorder.record(reference(group), type="Warning", reason="BindingLate", note=message)

    # -- pods ---------------------------------------------------------------------------------------------------

    def pod_unschedulable(self, pod: kube.Pod, waits: PendingPodStatus) -> None:
        self._recorder.record(reference(pod), type="Warning", reason="FailedScheduling", note=waits.message)

    def pod_bound(self, pod: kube.Pod, node: str) -> None:
        note = f"Successfully assigned {pod.key} to {node}"
        self._recorder.record(reference(pod), type="Normal", reason="Scheduled", note=note, action="Binding")

    def bind_failed(self, pod: kube.Pod, group: kube.PodGroup | None, problem: str) -> None:
        """Tell the group; the pod itself is told by its condition."""
        if group is not None:
            note, related = f"pod {pod.key} {problem}", reference(pod)
            self._recorder.record(reference(group), type="Warning", reason="BindFailed", note=note, related=related)

    # -- evictions ----------------------------------------------------------------------------------------------

    def evicts(
        self, pod: kube.Pod, order: EvictOrder, group: kube.PodGroup | None, preemptor: kube.PodGroup | None
    ) -> None:
        """Tell the victim, its group, and the group in whose favour it goes."""
        favour = f" in favour of {order.preemptor}" if order.preemptor else ""
        note = f"Pod is evicted, because of {order.reason}{favour}"
        related = reference(preemptor) if preemptor else None
        self._recorder.record(
            reference(pod), type="Warning", reason="Evict", note=note, action="Evicting", related=related
        )
        if group is not None:
            told = f"{order.reason}: pod {order.key} is evicted{favour}"
            self._recorder.record(reference(group), type="Normal", reason="Evict", note=told, related=related)
        if preemptor is not None:
            told = f"{order.reason}: pod {order.key} is evicted to make room"
            self._recorder.record(
                reference(preemptor), type="Normal", reason="Evict", note=told, related=reference(pod)
            )

    def nominated(self, pod: kube.Pod, node: str, victims: Sequence[EvictOrder]) -> None:
        """Tell a pod for which others go from a node."""
        who = ", ".join(order.key for order in victims)
        many = f"pod {who} is" if len(victims) == 1 else f"{len(victims)} pods ({who}) are"
        note = f"{victims[0].reason}: {many} evicted to make room on {node}"
        self._recorder.record(reference(pod), type="Normal", reason="Evict", note=note, action="Evicting")

    def eviction_failed(self, pod: kube.Pod, order: EvictOrder, problem: str, preemptor: kube.PodGroup | None) -> None:
        note = f"Pod stays, although it was to be evicted because of {order.reason}: {problem}"
        self._recorder.record(reference(pod), type="Warning", reason="EvictFailed", note=note)
        if preemptor is not None:
            told = f"{order.reason}: pod {order.key} cannot be evicted: {problem}"
            self._recorder.record(reference(preemptor), type="Warning", reason="EvictFailed", note=told)

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
    """Which object is meant."""
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
