"""From Node objects to the facts and amounts of the node table."""

from collections.abc import Mapping

from stromboli import kube
from stromboli.model.nodes import Node, Taint
from stromboli.model.resources import CPU, MEMORY, PODS, ResourceAxis

#: More pods than any node can run: no limit.
MANY_PODS = 1 << 31
OVERSUBSCRIPTION = "volcano.sh/oversubscription"


def node_facts(node: kube.Node) -> Node:
    spec, status = node.spec, node.status
    ready = [c.status for c in status.conditions or () if c.type == "Ready"]
    return Node(
        name=node.metadata.name,
        labels=node.metadata.labels or {},
        annotations=node.metadata.annotations or {},
        taints=tuple(Taint(t.key or "", t.value or "", t.effect or "") for t in spec.taints or ()),
        unschedulable=bool(spec.unschedulable) or node.metadata.deletion_timestamp is not None,
        ready=not ready or ready[-1] == "True",
        images={name: image.size_bytes or 0 for image in status.images or () for name in image.names or ()},
    )


def allocatable_of(node: kube.Node, axis: ResourceAxis) -> dict[int, int]:
    """What the node offers. Raises ValueError with the field in front for a quantity that makes no sense.

    A node that does not say how many pods it takes is not limited in them.
    """
    try:
        amounts = axis.parse(node.status.allocatable or node.status.capacity)
    except ValueError as error:
        raise ValueError(f"status.allocatable.{error}") from None
    amounts.setdefault(PODS, MANY_PODS)
    if (node.metadata.labels or {}).get(OVERSUBSCRIPTION) == "true":
        _oversubscribe(amounts, node.metadata.annotations or {})
    return amounts


def _oversubscribe(amounts: dict[int, int], annotations: Mapping[str, str]) -> None:
    """Add what the node lends beyond its own: milli-cpu and bytes."""
    for dimension, name in ((CPU, "cpu"), (MEMORY, "memory")):
        text = annotations.get(f"{OVERSUBSCRIPTION}-{name}", "")
        if text.isdecimal() and len(text) < 16:
            amounts[dimension] = amounts.get(dimension, 0) + int(text)
