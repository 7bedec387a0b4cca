"""Warnings about objects that are probably missing in the manifests."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.core.config.spelling import nearest
from stromboli.workloads.groups import GROUP_NAME, job_key_of
from stromboli.workloads.queues import QUEUE_NAMES, queue_name_of

_FINISHED = ("Succeeded", "Failed")
#: Objects of every cluster.
_STANDARD = {
    "PriorityClass": ("system-cluster-critical", "system-node-critical"),
    "Queue": tuple(queue.metadata.name for queue in standard_queues()),
    "PodGroup": (),
}


class _Reference(NamedTuple):
    """A field that names another object; `subject` is the object of the field."""

    kind: str
    key: str
    subject: str
    field: str


def find_missing_objects(
    objects: Sequence[kube.KubeObject], scheduler_names: Sequence[str], unread: Collection[tuple[str, str]] = ()
) -> list[str]:
    """Return warnings about pods that are not scheduled here, and about references to missing objects.

    `unread` are objects that could not be decoded, by kind and key: they are not missing.
    """
    has_nodes = any(isinstance(entry, kube.KubeNode) for entry in objects)
    no_nodes = [] if has_nodes else ["the manifests contain no Node, so nothing can be placed; add the nodes"]
    return [*no_nodes, *find_missing_references(objects, objects, scheduler_names, unread)]


def find_missing_references(
    subjects: Sequence[kube.KubeObject],
    objects: Sequence[kube.KubeObject],
    scheduler_names: Sequence[str],
    unread: Collection[tuple[str, str]] = (),
) -> list[str]:
    """Return the same warnings about the subjects only, which may name each other."""
    missing = _missing(subjects, [*objects, *subjects], scheduler_names, unread)
    return [*_foreign_pods(subjects, scheduler_names), *missing]


def _foreign_pods(objects: Sequence[kube.KubeObject], scheduler_names: Sequence[str]) -> Iterator[str]:
    """Report pods of other schedulers; a missing schedulerName means the default scheduler."""
    left = Counter(
        entry.spec.scheduler_name or "default-scheduler"
        for entry in objects
        if isinstance(entry, kube.Pod) and _waits(entry) and entry.spec.scheduler_name not in scheduler_names
    )
    for name, count in sorted(left.items()):
        things, verb = ("1 pod", "is") if count == 1 else (f"{count} pods", "are")
        remedy = f"set spec.schedulerName to {scheduler_names[0]}, or use --scheduler-name {name}"
        yield f"{things} of scheduler {name} {verb} without a node and ignored; {remedy}"


def _missing(
    subjects: Sequence[kube.KubeObject],
    objects: Sequence[kube.KubeObject],
    scheduler_names: Sequence[str],
    unread: Collection[tuple[str, str]],
) -> Iterator[str]:
    """Report each missing object once, at the first object that names it."""
    present = {kind: set(names) for kind, names in _STANDARD.items()}
    for entry in objects:
        if (kind := type(entry).kind_name) in present:
            present[kind].add(entry.key)
    found: defaultdict[tuple[str, str], list[_Reference]] = defaultdict(list)
    for entry in subjects:
        for reference in _references(entry, scheduler_names):
            if reference.key not in present[reference.kind] and (reference.kind, reference.key) not in unread:
                found[reference.kind, reference.key].append(reference)
    for (kind, key), references in sorted(found.items()):
        yield _describe(references[0], len(references), nearest(key, present[kind]))


def _describe(first: _Reference, count: int, near: str | None) -> str:
    meant = f"did you mean {near}?" if near else "add it"
    more = f" (also named by {count - 1} more {'object' if count == 2 else 'objects'})" if count > 1 else ""
    return f"{first.subject}: {first.field}: {first.kind} {first.key} does not exist; {meant}{more}"


def _references(entry: kube.KubeObject, scheduler_names: Sequence[str]) -> Iterator[_Reference]:
    """Yield the references of an object that waits. A pod from a cluster already has the number of its priority."""
    subject = f"{type(entry).kind_name} {entry.key}"
    if isinstance(entry, kube.PodGroup):
        if entry.spec.priority_class_name:
            yield _Reference("PriorityClass", entry.spec.priority_class_name, subject, "spec.priorityClassName")
        yield _Reference("Queue", queue_name_of(entry), subject, _queue_field(entry))
    elif isinstance(entry, kube.Pod) and _waits(entry) and entry.spec.scheduler_name in scheduler_names:
        if entry.spec.priority is None and entry.spec.priority_class_name:
            yield _Reference("PriorityClass", entry.spec.priority_class_name, subject, "spec.priorityClassName")
        if GROUP_NAME in (entry.metadata.annotations or {}) and (key := job_key_of(entry)):
            yield _Reference("PodGroup", key, subject, f"metadata.annotations[{GROUP_NAME}]")


def _queue_field(group: kube.PodGroup) -> str:
    """Return the field that names the queue of a group."""
    if group.spec.queue == queue_name_of(group):
        return "spec.queue"
    annotations, labels = group.metadata.annotations or {}, group.metadata.labels or {}
    for part, entries in (("annotations", annotations), ("labels", labels)):
        for name in QUEUE_NAMES:
            if entries.get(name):
                return f"metadata.{part}[{name}]"
    return "spec.queue"


def _waits(pod: kube.Pod) -> bool:
    return not pod.spec.node_name and pod.status.phase not in _FINISHED
