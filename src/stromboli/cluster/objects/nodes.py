"""Nodes: facts and allocatable amounts of the node table."""

from collections.abc import Mapping, Sequence

from stromboli import kube
from stromboli.cluster.objects.pods.constraints import TAINT_EFFECTS, check_choice
from stromboli.core.model.nodes.numa import Processors
from stromboli.core.model.nodes.shards import ShardMembership
from stromboli.core.model.nodes.table import Node, Taint
from stromboli.core.model.resources.resources import CPU, MAX_PER_NODE, MEMORY, PODS, ResourceAxis

#: More pods than any node can run: no limit.
MANY_PODS = 1 << 31
OVERSUBSCRIPTION = "volcano.sh/oversubscription"
#: Prefixes of annotations that device plugins and schedulers use as heartbeats and locks.
_PASSING = ("volcano.sh/node-vgpu-handshake", "volcano.sh/mutex.lock", "hami.io/node-handshake", "hami.io/mutex.lock")


def node_facts(
    node: kube.KubeNode, processors: Processors | None = None, belonging: ShardMembership = ShardMembership.OURS
) -> Node:
    spec, status = node.spec, node.status
    ready = [c.status for c in status.conditions or () if c.type == "Ready"]
    return Node(
        name=node.metadata.name,
        labels=node.metadata.labels or {},
        annotations=stable_annotations(node),
        taints=_taints(spec.taints or ()),
        unschedulable=bool(spec.unschedulable) or node.metadata.deletion_timestamp is not None,
        ready=not ready or ready[-1] == "True",
        images={name: image.size_bytes or 0 for image in status.images or () for name in image.names or ()},
        processors=processors,
        belonging=belonging,
    )


def stable_annotations(node: kube.KubeNode) -> dict[str, str]:
    """Annotations without heartbeats and locks, which do not describe the node."""
    annotations = node.metadata.annotations or {}
    return {key: value for key, value in annotations.items() if not key.startswith(_PASSING)}


def same_facts(one: Node, other: Node) -> bool:
    """Report whether the facts of both are equal."""
    return all(getattr(one, field) == getattr(other, field) for field in Node.__slots__)


def _taints(wire: Sequence[kube.KubeTaint]) -> tuple[Taint, ...]:
    """Taints of a node. An unknown effect would exclude no pod, so the node is rejected as a whole."""
    for place, taint in enumerate(wire):
        check_choice(taint.effect, TAINT_EFFECTS, f"spec.taints[{place}].effect")
    return tuple(Taint(taint.key or "", taint.value or "", taint.effect or "") for taint in wire)


def allocatable_of(node: kube.KubeNode, axis: ResourceAxis) -> dict[int, int]:
    """Allocatable amounts of the node. Raises ValueError, with the field in front, for an invalid quantity.

    A node without a pod limit has none.
    """
    try:
        amounts = axis.parse(node.status.allocatable or node.status.capacity)
    except ValueError as error:
        raise ValueError(f"status.allocatable.{error}") from None
    for dimension, amount in amounts.items():
        if amount > MAX_PER_NODE:
            offered = f"{axis.names[dimension]}: {axis.format(dimension, amount)}"
            raise ValueError(f"status.allocatable.{offered} is more than any node can have; correct the amount")
    amounts.setdefault(PODS, MANY_PODS)
    if (node.metadata.labels or {}).get(OVERSUBSCRIPTION) == "true":
        _oversubscribe(amounts, node.metadata.annotations or {})
    return amounts


def _oversubscribe(amounts: dict[int, int], annotations: Mapping[str, str]) -> None:
    """Add the oversubscribed amounts of the node: milli-cpu and bytes."""
    for dimension, name in ((CPU, "cpu"), (MEMORY, "memory")):
        text = annotations.get(f"{OVERSUBSCRIPTION}-{name}", "")
        if text.isdecimal() and len(text) < 16:
            amounts[dimension] = amounts.get(dimension, 0) + int(text)
