"""What was probably forgotten in the manifests: without these notes a plan would be silently about something else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from stromboli import kube

_FINISHED = ("Succeeded", "Failed")
#: Every cluster has these.
_STANDARD_CLASSES = ("system-cluster-critical", "system-node-critical")


def oversights(objects: Sequence[kube.KubeObject], scheduler_names: Sequence[str]) -> list[str]:
    """Sentences about objects that nobody will schedule, or that refer to something that was not given."""
    return [*_no_nodes(objects), *_foreign_pods(objects, scheduler_names), *_unknown_classes(objects)]


def _no_nodes(objects: Sequence[kube.KubeObject]) -> Iterator[str]:
    if not any(isinstance(entry, kube.KubeNode) for entry in objects):
        yield "no Node is given, so nothing can be placed; add the nodes to the manifests"


def _foreign_pods(objects: Sequence[kube.KubeObject], scheduler_names: Sequence[str]) -> Iterator[str]:
    """A pod without schedulerName belongs to Kubernetes' own scheduler; whoever plans it here forgot the field."""
    left = Counter(
        entry.spec.scheduler_name or "default-scheduler"
        for entry in objects
        if isinstance(entry, kube.Pod)
        and not entry.spec.node_name
        and entry.status.phase not in _FINISHED
        and entry.spec.scheduler_name not in scheduler_names
    )
    for name, count in sorted(left.items()):
        things, verb = ("1 pod", "waits") if count == 1 else (f"{count} pods", "wait")
        yield f"{things} without a node {verb} for scheduler {name} and took no part; use --scheduler-name to plan them"


def _unknown_classes(objects: Sequence[kube.KubeObject]) -> Iterator[str]:
    given = {entry.metadata.name for entry in objects if isinstance(entry, kube.PriorityClass)}
    named = Counter(name for entry in objects if (name := _class_to_resolve(entry)) and name not in given)
    for name, count in sorted(named.items()):
        if name not in _STANDARD_CLASSES:
            things, verb = ("1 object", "names") if count == 1 else (f"{count} objects", "name")
            yield f"PriorityClass {name} is not given, but {things} {verb} it: its priority is not known; add it"


def _class_to_resolve(entry: kube.KubeObject) -> str | None:
    """The priority class that must be looked up. A pod from a cluster already carries the number."""
    if isinstance(entry, kube.PodGroup):
        return entry.spec.priority_class_name
    if isinstance(entry, kube.Pod) and entry.spec.priority is None and not entry.spec.node_name:
        return entry.spec.priority_class_name
    return None
