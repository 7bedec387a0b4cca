"""Queues: conversion to the model, and the tree that they form."""

from collections.abc import Iterable, Mapping

from stromboli import kube
from stromboli.cluster.objects.layout_version import LayoutVersion, has_same_fields
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.core.model.queues.queue import NO_NODE_GROUPS, ROOT, NodeGroups, Queue, QueueUsage
from stromboli.core.model.resources.resources import CPU, MEMORY, Request, ResourceAxis, request_of
from stromboli.kube.objects import volcano


class Queues:
    def __init__(self, axis: ResourceAxis, version: LayoutVersion) -> None:
        self._axis = axis
        self._version = version
        #: Replaced and never edited.
        self.entries: Mapping[str, Queue] = {}
        #: By name, the errors of queues that therefore take no jobs.
        self.faults: dict[str, str] = {}
        self._objects: dict[str, kube.KubeQueue] = {}

    def objects(self) -> Iterable[kube.KubeQueue]:
        return self._objects.values()

    def find(self, name: str) -> kube.KubeQueue | None:
        """The object of a queue."""
        return self._objects.get(name)

    def apply(self, queue: kube.KubeQueue) -> None:
        name = queue.key
        self._objects[name] = queue
        try:
            entry = queue_of(queue, self._axis)
        except ValueError as error:
            self._version.generation += self.faults.get(name) != f"Queue {name}: {error}"
            self.faults[name] = f"Queue {name}: {error}"
            self._drop(name)
            return
        self.faults.pop(name, None)
        known = self.entries.get(name)
        if known is None or known.parent != entry.parent:
            self._version.generation += 1
        elif not has_same_fields(known, entry):
            self._version.revision += 1
        else:
            return
        self.entries = {**self.entries, name: entry}

    def remove(self, queue: kube.KubeQueue) -> None:
        self._objects.pop(queue.key, None)
        self._drop(queue.key)
        self.faults.pop(queue.key, None)

    def _drop(self, name: str) -> None:
        if name in self.entries:
            self.entries = {other: queue for other, queue in self.entries.items() if other != name}
            self._version.generation += 1

    def warnings(self) -> Iterable[str]:
        for fault in self.faults.values():
            yield f"{fault}; the queue takes no jobs"
        for name, fault in misplaced(self.entries).items():
            yield f"Queue {name}: {fault}; the queue hangs below the root"


def relevant_fields(queue: kube.KubeQueue) -> tuple[object, ...]:
    """Everything except the sums and counts in the status."""
    return queue.spec, queue.status.state, queue.metadata.annotations


def queue_of(queue: kube.KubeQueue, axis: ResourceAxis) -> Queue:
    """The queue of the model. Raises ValueError, with the field in front, for invalid content."""
    spec = queue.spec
    if spec.weight is not None and spec.weight < 1:
        raise ValueError(f"spec.weight: must be at least 1, got {spec.weight}")
    guarantee = spec.guarantee.resource if spec.guarantee else None
    return Queue(
        name=queue.metadata.name,
        uid=queue.metadata.uid or queue.metadata.name,
        weight=spec.weight or 1,
        priority=spec.priority or 0,
        parent=spec.parent or "",
        created=seconds_of(queue.metadata.creation_timestamp),
        state=queue.status.state or "Open",
        reclaimable=spec.reclaimable is not False,
        strict=_strict(spec.dequeue_strategy),
        capability=_capability(axis, spec.capability),
        guarantee=_amounts(axis, guarantee, "spec.guarantee.resource"),
        deserved=_deserved(axis, spec.deserved),
        annotations=dict(queue.metadata.annotations or {}),
        node_groups=_node_groups(spec.affinity),
    )


def _strict(strategy: str | None) -> bool:
    if strategy not in (None, "", "traverse", "fifo"):
        raise ValueError(f"spec.dequeueStrategy: expected fifo or traverse, got {strategy!r}")
    return strategy == "fifo"


def _node_groups(affinity: volcano.QueueAffinity | None) -> NodeGroups:
    if affinity is None:
        return NO_NODE_GROUPS
    near, away = affinity.node_group_affinity, affinity.node_group_anti_affinity
    return NodeGroups(
        required=tuple(near.required or ()) if near else (),
        preferred=tuple(near.preferred or ()) if near else (),
        forbidden=tuple(away.required or ()) if away else (),
        disliked=tuple(away.preferred or ()) if away else (),
    )


def _capability(axis: ResourceAxis, resources: Mapping[str, str | int | float] | None) -> Request:
    """Capability of a queue. A missing cpu or memory amount means no limit; a missing other resource means zero."""
    ceiling = dict(_amounts(axis, resources, "spec.capability"))
    for name in resources or {}:
        dimension = axis.find(name)
        if dimension is not None and dimension not in (CPU, MEMORY):
            ceiling.setdefault(dimension, 0)
    return tuple(sorted(ceiling.items()))


def _deserved(axis: ResourceAxis, resources: Mapping[str, str | int | float] | None) -> Request:
    """Deserved amounts of a queue, with those that are 0: none of a resource is not the same as no statement on it."""
    amounts = dict(_amounts(axis, resources, "spec.deserved"))
    for name in resources or {}:
        dimension = axis.find(name)
        if dimension is not None:
            amounts.setdefault(dimension, 0)
    return tuple(sorted(amounts.items()))


def _amounts(axis: ResourceAxis, resources: Mapping[str, str | int | float] | None, field: str) -> Request:
    try:
        return request_of(axis.parse(resources))
    except ValueError as error:
        raise ValueError(f"{field}.{error}") from None


def misplaced(queues: Mapping[str, Queue]) -> dict[str, str]:
    """Return by name the error in a queue's position in the tree; `chains_of` puts such a queue below the root."""
    faults = {}
    for name, queue in queues.items():
        if queue.parent not in ("", ROOT) and queue.parent not in queues:
            faults[name] = f"spec.parent: queue {queue.parent!r} does not exist"
        elif _is_own_ancestor(name, queues):
            faults[name] = "spec.parent: the queue is its own ancestor"
    return faults


def _is_own_ancestor(name: str, queues: Mapping[str, Queue]) -> bool:
    seen: set[str] = set()
    above = queues[name].parent
    while above in queues and above not in seen:
        seen.add(above)
        above = queues[above].parent
    return name in seen


def chains_of(queues: Mapping[str, Queue], usage: Mapping[str, QueueUsage]) -> dict[str, tuple[QueueUsage, ...]]:
    """For every queue its sums and those of its ancestors, the root last.

    A missing parent or a cycle ends the chain: the queue is then directly below the root.
    """
    chains = {}
    for name in usage:
        chain, seen = [usage[name]], {name}
        parent = queues[name].parent if name in queues else ""
        while parent and parent in usage and parent not in seen:
            seen.add(parent)
            chain.append(usage[parent])
            parent = queues[parent].parent if parent in queues else ""
        if ROOT in usage and ROOT not in seen:
            chain.append(usage[ROOT])
        chains[name] = tuple(chain)
    return chains
