"""Nodes: facts and allocatable amounts of the node table.

Nodes are updated all the time without a relevant change (heartbeats), so they are decoded on arrival and compared with
the previous version.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from stromboli import kube
from stromboli.cluster.objects.layout_version import LayoutVersion, has_same_fields
from stromboli.cluster.objects.node_shards import NodeShards
from stromboli.cluster.objects.pods.constraints import TAINT_EFFECTS, check_choice
from stromboli.core.model.nodes.numa import Processors
from stromboli.core.model.nodes.shards import ShardMembership
from stromboli.core.model.nodes.table import Node, Taint
from stromboli.core.model.resources.resources import CPU, MAX_PER_NODE, MEMORY, PODS, ResourceAxis

#: More pods than any node can run: no limit.
MANY_PODS = 1 << 31
OVERSUBSCRIPTION = "volcano.sh/oversubscription"
#: Prefixes of annotations that device plugins and schedulers use as heartbeats and locks.
_TRANSIENT = ("volcano.sh/node-vgpu-handshake", "volcano.sh/mutex.lock", "hami.io/node-handshake", "hami.io/mutex.lock")


@dataclass(frozen=True, slots=True)
class NodeEntry:
    """A decoded node: its facts and its allocatable amounts by dimension."""

    facts: Node
    allocatable: Mapping[int, int]


class Nodes:
    def __init__(
        self,
        axis: ResourceAxis,
        version: LayoutVersion,
        node_selector: Mapping[str, Collection[str]],
        shards: NodeShards,
    ) -> None:
        self._axis = axis
        self._version = version
        self._node_selector = node_selector
        self._shards = shards
        self._sharded_at = shards.revision
        self.entries: dict[str, NodeEntry] = {}
        self._objects: dict[str, kube.KubeNode] = {}
        self._processors: dict[str, Processors] = {}
        #: Amounts that devices of ResourceSlices provide, by node.
        self._devices: Mapping[str, Mapping[int, int]] = {}
        self._faults: dict[str, str] = {}

    def objects(self) -> Iterable[kube.KubeNode]:
        return self._objects.values()

    def warnings(self) -> Iterable[str]:
        return self._faults.values()

    def find(self, name: str) -> kube.KubeNode | None:
        """The object of a node."""
        return self._objects.get(name)

    def labels_of(self, name: str) -> Mapping[str, str] | None:
        """Labels of a node; None if it does not exist."""
        entry = self.entries.get(name)
        return entry.facts.labels if entry is not None else None

    def pool_labels(self, name: str) -> Mapping[str, str]:
        """Values of the node selector's labels on a node; they are written on its pods at binding."""
        entry = self.entries.get(name) if self._node_selector else None
        return {key: entry.facts.labels[key] for key in self._node_selector} if entry is not None else {}

    def apply(self, node: kube.KubeNode) -> None:
        name = node.key
        self._objects[name] = node
        labels = node.metadata.labels or {}
        if any(labels.get(key) not in values for key, values in self._node_selector.items()):
            self._drop(name)
            return
        try:
            belonging = self._shards.belonging(name, labels)
            facts = node_facts(node, self._processors.get(name), belonging)
            entry = NodeEntry(facts, self._with_devices(name, allocatable_of(node, self._axis)))
        except ValueError as error:
            self._faults[name] = f"Node {name}: {error}; the node is left out"
            self._drop(name)
            return
        self._faults.pop(name, None)
        known = self.entries.get(name)
        if known is None:
            self._version.generation += 1
        elif known.allocatable != entry.allocatable or not has_same_fields(known.facts, entry.facts):
            self._version.revision += 1
        else:
            return
        self.entries[name] = entry

    def remove(self, node: kube.KubeNode) -> None:
        self._objects.pop(node.key, None)
        self._drop(node.key)
        self._faults.pop(node.key, None)

    def set_processors(self, name: str, processors: Processors | None) -> None:
        """Set the CPU facts of a node, which arrive in a separate object; None if missing or invalid."""
        if processors is None:
            self._processors.pop(name, None)
        else:
            self._processors[name] = processors
        known = self.entries.get(name)
        if known is not None and known.facts.processors != processors:
            self.entries[name] = replace(known, facts=replace(known.facts, processors=processors))
            self._version.revision += 1

    def set_devices(self, devices: Mapping[str, Mapping[int, int]]) -> None:
        """Set the amounts of extended resources that devices provide where no device plugin does."""
        changed = {name for name in {*self._devices, *devices} if self._devices.get(name) != devices.get(name)}
        self._devices = devices
        for name in changed & self.entries.keys():
            self.apply(self._objects[name])

    def provided(self, dimension: int) -> frozenset[str]:
        """The nodes on which devices provide a resource."""
        named = (name for name, amounts in self._devices.items() if dimension in amounts and name in self.entries)
        return frozenset(name for name in named if not self._own_amount(name, dimension))

    def _own_amount(self, name: str, dimension: int) -> int:
        return allocatable_of(self._objects[name], self._axis).get(dimension, 0)

    def _with_devices(self, name: str, own: dict[int, int]) -> dict[int, int]:
        """The amounts of a node; those of a device plugin precede those of devices."""
        for dimension, amount in self._devices.get(name, {}).items():
            own[dimension] = own.get(dimension) or amount
        return own

    def reshard(self) -> None:
        """Update which nodes belong to the shard."""
        if self._sharded_at == self._shards.revision:
            return
        self._sharded_at = self._shards.revision
        for name, known in self.entries.items():
            belonging = self._shards.belonging(name, known.facts.labels)
            if belonging is not known.facts.belonging:
                self.entries[name] = replace(known, facts=replace(known.facts, belonging=belonging))
                self._version.revision += 1

    def _drop(self, name: str) -> None:
        if self.entries.pop(name, None) is not None:
            self._version.generation += 1


def relevant_fields(node: kube.KubeNode) -> tuple[object, ...]:
    """Everything except the times of heartbeats."""
    conditions = [(condition.type, condition.status) for condition in node.status.conditions or ()]
    metadata, status = node.metadata, node.status
    identity = metadata.labels, stable_annotations(node), metadata.deletion_timestamp
    return identity, node.spec, status.allocatable, status.capacity, status.images, conditions


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
    return {key: value for key, value in annotations.items() if not key.startswith(_TRANSIENT)}


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
            text = f"{axis.names[dimension]}: {axis.format(dimension, amount)}"
            raise ValueError(f"status.allocatable.{text} is more than any node can have; correct the amount")
    amounts.setdefault(PODS, MANY_PODS)
    if (node.metadata.labels or {}).get(OVERSUBSCRIPTION) == "true":
        for dimension, name in ((CPU, "cpu"), (MEMORY, "memory")):  # in milli-cpu and bytes
            text = (node.metadata.annotations or {}).get(f"{OVERSUBSCRIPTION}-{name}", "")
            if text.isdecimal() and len(text) < 16:
                amounts[dimension] = amounts.get(dimension, 0) + int(text)
    return amounts
