"""Queues: conversion to the model, and the tree that they form."""

from collections.abc import Mapping

from stromboli import kube
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.core.model.queues.queue import NO_NODE_GROUPS, ROOT, NodeGroups, Queue, QueueUsage
from stromboli.core.model.resources.resources import CPU, MEMORY, Request, ResourceAxis, request_of
from stromboli.kube.objects import volcano


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
        capability=_capability(axis, spec.capability),
        guarantee=_amounts(axis, guarantee, "spec.guarantee.resource"),
        deserved=_amounts(axis, spec.deserved, "spec.deserved"),
        annotations=dict(queue.metadata.annotations or {}),
        node_groups=_node_groups(spec.affinity),
    )


def same_queue_spec(one: Queue, other: Queue) -> bool:
    """Report whether both are equal."""
    return all(getattr(one, field) == getattr(other, field) for field in Queue.__slots__)


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


def _amounts(axis: ResourceAxis, resources: Mapping[str, str | int | float] | None, field: str) -> Request:
    try:
        return request_of(axis.parse(resources))
    except ValueError as error:
        raise ValueError(f"{field}.{error}") from None


def misplaced(queues: Mapping[str, Queue]) -> dict[str, str]:
    """By name, what is wrong with a queue's position in the tree; `chains_of` puts such a queue below the root."""
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


def chains_of(queues: Mapping[str, Queue], books: Mapping[str, QueueUsage]) -> dict[str, tuple[QueueUsage, ...]]:
    """For every queue its sums and those of its ancestors, the root last.

    A missing parent or a cycle ends the chain: the queue is then directly below the root.
    """
    chains = {}
    for name in books:
        chain, seen = [books[name]], {name}
        parent = queues[name].parent if name in queues else ""
        while parent and parent in books and parent not in seen:
            seen.add(parent)
            chain.append(books[parent])
            parent = queues[parent].parent if parent in queues else ""
        if ROOT in books and ROOT not in seen:
            chain.append(books[ROOT])
        chains[name] = tuple(chain)
    return chains
