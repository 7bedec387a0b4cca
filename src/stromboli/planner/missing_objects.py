"""Warnings about objects that are probably missing in the manifests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from stromboli import kube

_FINISHED = ("Succeeded", "Failed")
#: Priority classes of every cluster.
_STANDARD_CLASSES = ("system-cluster-critical", "system-node-critical")


def find_missing_objects(objects: Sequence[kube.KubeObject], scheduler_names: Sequence[str]) -> list[str]:
    """Return warnings about pods that are not scheduled here, and about references to missing objects."""
    has_nodes = any(isinstance(entry, kube.KubeNode) for entry in objects)
    no_nodes = [] if has_nodes else ["the manifests contain no Node, so nothing can be placed; add the nodes"]
    return [*no_nodes, *_foreign_pods(objects, scheduler_names), *_unknown_classes(objects)]


def _foreign_pods(objects: Sequence[kube.KubeObject], scheduler_names: Sequence[str]) -> Iterator[str]:
    """Report pods of other schedulers; a missing schedulerName means the default scheduler."""
    left = Counter(
        entry.spec.scheduler_name or "default-scheduler"
        for entry in objects
        if isinstance(entry, kube.Pod)
        and not entry.spec.node_name
        and entry.status.phase not in _FINISHED
        and entry.spec.scheduler_name not in scheduler_names
    )
    for name, count in sorted(left.items()):
        things, verb = ("1 pod", "is") if count == 1 else (f"{count} pods", "are")
        yield f"{things} of scheduler {name} {verb} without a node and ignored; schedule them with --scheduler-name"


def _unknown_classes(objects: Sequence[kube.KubeObject]) -> Iterator[str]:
    present = {entry.metadata.name for entry in objects if isinstance(entry, kube.PriorityClass)}
    named = Counter(name for entry in objects if (name := _class_to_resolve(entry)) and name not in present)
    for name, count in sorted(named.items()):
        if name not in _STANDARD_CLASSES:
            things, verb = ("1 object", "names") if count == 1 else (f"{count} objects", "name")
            yield f"PriorityClass {name} is missing, but {things} {verb} it: its priority is unknown; add it"


def _class_to_resolve(entry: kube.KubeObject) -> str | None:
    """Return the priority class to resolve. A pod from a cluster already has the number."""
    if isinstance(entry, kube.PodGroup):
        return entry.spec.priority_class_name
    if isinstance(entry, kube.Pod) and entry.spec.priority is None and not entry.spec.node_name:
        return entry.spec.priority_class_name
    return None
