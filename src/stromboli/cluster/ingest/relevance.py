"""Which news calls for a cycle: those after which a decision could be another one."""

from __future__ import annotations

from stromboli import kube
from stromboli.cluster.objects.nodes import stable_annotations
from stromboli.cluster.objects.pod_groups.native_pod_groups import as_group
from stromboli.cluster.objects.pod_groups.pod_groups import same_job_spec
from stromboli.cluster.objects.pod_groups.previous_domains import without_placement_record
from stromboli.cluster.objects.pods.pods import says_the_same, status_of
from stromboli.core.model.tasks.task import TaskStatus
from stromboli.kube.objects import native
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.topology import KubeHyperNode, KubeTopology, Numatopology

#: Whether such a pod is on its node or just about to be there changes nothing for anybody else.
_ON_NODE = (TaskStatus.BOUND, TaskStatus.RUNNING)


def confirms_binding(entry: TopLevel, before: TopLevel | None) -> bool:
    """Whether a pod that had no node has one now. If it is the node that was chosen for it, that is no news."""
    if not isinstance(entry, kube.Pod) or not isinstance(before, kube.Pod):
        return False
    return status_of(before) is TaskStatus.PENDING and status_of(entry) in _ON_NODE


def is_relevant(entry: TopLevel, before: TopLevel | None) -> bool:
    """Whether this object, which was `before` if it was known at all, may change what is decided.

    An object that is gone is reported with itself as it was before.
    """
    if before is None or entry is before:
        return True
    if isinstance(entry, kube.Pod) and isinstance(before, kube.Pod):
        told = before.metadata.labels != entry.metadata.labels or not says_the_same(before, entry)
        return told or _stage(before) != _stage(entry)
    if isinstance(entry, kube.PodGroup) and isinstance(before, kube.PodGroup):
        is_same = same_job_spec(without_placement_record(before), without_placement_record(entry))
        return not is_same or before.status.phase != entry.status.phase
    if isinstance(entry, native.NativePodGroup) and isinstance(before, native.NativePodGroup):
        is_same = same_job_spec(without_placement_record(as_group(before)), without_placement_record(as_group(entry)))
        return not is_same or before.spec != entry.spec
    if isinstance(entry, kube.KubeNode) and isinstance(before, kube.KubeNode):
        return _node_facts(before) != _node_facts(entry)
    if isinstance(entry, kube.KubeQueue) and isinstance(before, kube.KubeQueue):
        return (before.spec, before.status.state) != (entry.spec, entry.status.state)
    if isinstance(entry, Numatopology) and isinstance(before, Numatopology):
        return before.spec != entry.spec
    if isinstance(entry, KubeHyperNode) and isinstance(before, KubeHyperNode):
        return before.spec != entry.spec
    if isinstance(entry, KubeTopology) and isinstance(before, KubeTopology):
        return before.spec != entry.spec
    return True


def _stage(pod: kube.Pod) -> TaskStatus:
    status = status_of(pod)
    return TaskStatus.RUNNING if status in _ON_NODE else status


def _node_facts(node: kube.KubeNode) -> tuple[object, ...]:
    """All but the times of heartbeats."""
    conditions = [(condition.type, condition.status) for condition in node.status.conditions or ()]
    metadata, status = node.metadata, node.status
    identity = metadata.labels, stable_annotations(node), metadata.deletion_timestamp
    return identity, node.spec, status.allocatable, status.capacity, status.images, conditions
