"""KAI Topologies: trees of domains by node labels.

A Topology lists node labels, the widest first. Nodes with equal values from the first label on are in one domain; a
node without one of the labels is in none. An invalid object is ignored and reported. Native PodGroups list such labels
themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from stromboli import kube
from stromboli.cluster.objects.pod_groups.native_pod_groups import NativeGroup, network_of, topology_labels
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.topology.hypernodes import HyperNode, HyperNodeTree
from stromboli.kube.objects.topology import KubeTopology

#: Maximum of the CRD.
MAX_LEVELS = 16
#: The label that identifies single nodes, so that no level can be below it.
HOSTNAME = "kubernetes.io/hostname"
#: Separator of the values in a domain's name; label values never contain it.
SEPARATOR = "/"


class Topologies:
    """All Topologies, and the trees that they form over the nodes."""

    def __init__(self) -> None:
        self._objects: dict[str, KubeTopology] = {}
        #: Labels that groups list themselves, by group key; and the number of groups per list.
        self._labels_of_groups: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._group_networks: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self._table: NodeTable | None = None
        self._trees: Mapping[str, HyperNodeTree] = {}
        self._faults: Mapping[str, str] = {}

    def apply(self, topology: KubeTopology) -> None:
        known = self._objects.get(topology.key)
        self._objects[topology.key] = topology
        if known is None or known.spec != topology.spec:
            self._table = None

    def remove(self, topology: KubeTopology) -> None:
        if self._objects.pop(topology.key, None) is not None:
            self._table = None

    def follow(self, group: kube.PodGroup) -> None:
        """Track a group's own labels; most groups list none."""
        labels = topology_labels(group.origin) if isinstance(group, NativeGroup) else ()
        named = (network_of(group), labels) if all(labels) and labels else None
        if self._labels_of_groups.get(group.key) != named:
            self.forget(group.key)
        if named is not None and group.key not in self._labels_of_groups:
            self._labels_of_groups[group.key] = named
            if not self._group_networks[named]:
                self._table = None
            self._group_networks[named] += 1

    def forget(self, key: str) -> None:
        """Stop tracking a group's labels."""
        named = self._labels_of_groups.pop(key, None)
        if named is not None:
            self._group_networks[named] -= 1
            if not self._group_networks[named]:
                del self._group_networks[named]
                self._table = None

    def objects(self) -> list[KubeTopology]:
        return list(self._objects.values())

    def trees(self, table: NodeTable) -> Mapping[str, HyperNodeTree]:
        """Trees over these nodes by name; rebuilt only when an object or node facts have changed."""
        if table is not self._table:
            self._make(table)
            self._table = table
        return self._trees

    def _make(self, table: NodeTable) -> None:
        trees, faults = {}, {}
        for name, topology in self._objects.items():
            try:
                trees[name] = tree_of(levels_of(topology), table)
            except ValueError as error:
                faults[name] = f"{error}; the topology is left out"
            else:
                if not trees[name]:
                    faults[name] = "no node has all of its labels; nothing is placed by it"
        trees |= {network: tree_of(labels, table) for network, labels in self._group_networks}
        self._trees, self._faults = trees, faults

    def warnings(self) -> list[str]:
        return [f"Topology {name}: {fault}" for name, fault in sorted(self._faults.items())]


def levels_of(topology: KubeTopology) -> Sequence[str]:
    """The labels, the widest first. Raises ValueError."""
    levels = [level.node_label or "" for level in topology.spec.levels or ()]
    if not 1 <= len(levels) <= MAX_LEVELS:
        raise ValueError(f"spec.levels: has {len(levels)} levels; write between 1 and {MAX_LEVELS}")
    for place, label in enumerate(levels):
        field = f"spec.levels[{place}].nodeLabel"
        if not label:
            raise ValueError(f"{field}: is missing; name a label of nodes")
        if label in levels[:place]:
            raise ValueError(f"{field}: {label!r} is a level already; name each label once")
        if label == HOSTNAME and place + 1 < len(levels):
            raise ValueError(f"{field}: nothing can be below {HOSTNAME!r}; make it the last level")
    return levels


def tree_of(levels: Sequence[str], table: NodeTable) -> HyperNodeTree:
    """The tree in which the last level has tier 1 and the first the highest tier."""
    members: dict[tuple[str, ...], list[int]] = {}
    for row, node in enumerate(table.nodes):
        path = tuple(node.labels.get(label, "") for label in levels)
        if all(path):
            members.setdefault(path, []).append(row)
    paths = {path[:depth] for path in members for depth in range(1, len(levels) + 1)}
    domains = [
        HyperNode(
            name=SEPARATOR.join(path),
            tier=len(levels) - len(path) + 1,
            tier_name=levels[len(path) - 1],
            parent=SEPARATOR.join(path[:-1]),
            rows=tuple(members.get(path, ())),
        )
        for path in paths
    ]
    return HyperNodeTree(len(table), domains, tier_names=list(reversed(levels)))
