"""Changes to the cluster: uncordoned and additional nodes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from stromboli import kube
from stromboli.core.model.resources.resources import PODS, Request
from stromboli.planner.candidates.candidate import RemedyCandidate, creation, edit, single
from stromboli.planner.changes import Edit, ObjectChange
from stromboli.planner.job_context import JobContext

_MAX_CORDONED = 5
_MAX_NEW_NODES = 128
_MAX_TEMPLATES = 3
_CORDON_TAINT = "node.kubernetes.io/unschedulable"
_HOSTNAME = "kubernetes.io/hostname"


def uncordoned_nodes(context: JobContext) -> Iterator[RemedyCandidate]:
    cordoned = [node for node in context.nodes if node.spec.unschedulable]
    for node in cordoned[:_MAX_CORDONED]:
        edits: list[Edit] = [edit(node, ("spec", "unschedulable"), True, None)]
        taints = [taint for taint in node.spec.taints or () if taint.key != _CORDON_TAINT]
        if len(taints) < len(node.spec.taints or ()):
            edits.append(edit(node, ("spec", "taints"), node.spec.taints, taints))
        yield single("uncordon-node", f"uncordon node {node.key}", *edits)


def more_nodes(context: JobContext) -> Iterator[RemedyCandidate]:
    """Add nodes like the one that holds most of the job's pods when empty or, if none holds any, larger ones."""
    limit = min(context.pods_needed, _MAX_NEW_NODES)
    if limit > 0:
        patterns = [(node, f"like {node.key}") for node in _patterns(context)[:_MAX_TEMPLATES]]
        for pattern, label in patterns or _enlarged(context):
            yield RemedyCandidate("add-nodes", limit, partial(_add_nodes, context, pattern, label))


def _patterns(context: JobContext) -> list[kube.KubeNode]:
    """Return one node of every shape that can hold a waiting pod, the largest first."""
    request = context.waiting[0].task.task_class.request
    shapes: dict[bytes, tuple[int, kube.KubeNode]] = {}
    for node in sorted(context.nodes, key=lambda node: node.key):
        copies = _copies(context, node, request)
        if copies and not node.spec.unschedulable:
            labels = {key: value for key, value in (node.metadata.labels or {}).items() if key != _HOSTNAME}
            shape = msgspec.json.encode((labels, node.spec.taints, node.status.allocatable), order="deterministic")
            shapes.setdefault(shape, (copies, node))
    return [node for _, node in sorted(shapes.values(), key=lambda entry: (-entry[0], entry[1].key))]


def _enlarged(context: JobContext) -> list[tuple[kube.KubeNode, str]]:
    """Return the node that lacks the fewest resources for a waiting pod, with what it lacks."""
    request = context.waiting[0].task.task_class.request
    lacking = [
        (raised, node)
        for node in sorted(context.nodes, key=lambda node: node.key)
        if not node.spec.unschedulable and (raised := _lacking(context, node, request)) is not None
    ]
    if not lacking:
        return []
    raised, node = min(lacking, key=lambda entry: len(entry[0]))
    amounts = {context.axis.names[d]: context.axis.format(d, amount) for d, amount in raised}
    status = kube.NodeStatus(allocatable={**(node.status.allocatable or {}), **amounts})
    return [(msgspec.structs.replace(node, status=status), f"like {node.key} with {context.axis.describe(raised)}")]


def _lacking(context: JobContext, node: kube.KubeNode, request: Request) -> Request | None:
    """Return the requested amounts that the empty node does not have; None for an invalid node."""
    try:
        offered = context.axis.parse(node.status.allocatable)
    except ValueError:
        return None
    return tuple((d, amount) for d, amount in request if d != PODS and amount > offered.get(d, 0))


def _copies(context: JobContext, node: kube.KubeNode, request: Request) -> int:
    """Return the number of such pods that fit on an empty node."""
    try:
        offered = context.axis.parse(node.status.allocatable)
    except ValueError:
        return 0
    return min((offered.get(dimension, 0) // amount for dimension, amount in request if dimension != PODS), default=1)


def _add_nodes(context: JobContext, pattern: kube.KubeNode, label: str, size: int) -> ObjectChange:
    taken = {node.key for node in context.nodes}
    names = (name for number in range(1, size + len(taken) + 1) if (name := f"{pattern.key}-new-{number}") not in taken)
    edits = tuple(creation(_like(pattern, next(names))) for _ in range(size))
    number = "1 node" if size == 1 else f"{size} nodes"
    return ObjectChange("add-nodes", f"add {number} {label}", edits)


def _like(pattern: kube.KubeNode, name: str) -> kube.KubeNode:
    """Return a new, healthy node of the same shape."""
    labels = dict(pattern.metadata.labels or {})
    if _HOSTNAME in labels:
        labels[_HOSTNAME] = name
    metadata = msgspec.structs.replace(pattern.metadata, name=name, uid=f"Node/{name}", labels=labels)
    status = kube.NodeStatus(allocatable=pattern.status.allocatable, capacity=pattern.status.capacity)
    return kube.KubeNode("v1", "Node", metadata, pattern.spec, status)
