"""Nodes, queues, priority classes, quotas and ConfigMaps: the objects that the layout of the accounting depends on.

These objects are updated all the time without a relevant change (node heartbeats, queue sums), so they are decoded on
arrival and compared with the previous state. There are two kinds of change. If nodes or queues are added or removed,
columns and chains move, and everything is rebuilt (`generation`). If only the facts of a node or queue change, the
columns stay and the facts are replaced (`revision`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from stromboli import kube
from stromboli.cluster.objects.node_shards import NodeShards
from stromboli.cluster.objects.nodes import allocatable_of, node_facts, same_facts
from stromboli.cluster.objects.pod_groups.pod_groups import Priorities
from stromboli.cluster.objects.queues import misplaced, queue_of, same_queue_spec
from stromboli.cluster.objects.resource_quotas import quota_of
from stromboli.core.model.nodes.numa import Processors
from stromboli.core.model.nodes.table import Node
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.queues.quota import Quota
from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.kube.objects.meta import TopLevel

Offer = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class NodeEntry:
    """A decoded node: its facts and its allocatable amounts."""

    facts: Node
    offer: Offer


class NodesAndQueues:
    def __init__(
        self,
        axis: ResourceAxis,
        node_selector: Mapping[str, Collection[str]] | None = None,
        shards: NodeShards | None = None,
    ) -> None:
        self._axis = axis
        self._node_selector = node_selector or {}
        self._shards = shards or NodeShards()
        self._sharded_at = self._shards.revision
        self.nodes: dict[str, NodeEntry] = {}
        self.queues: dict[str, Queue] = {}
        self.priorities = Priorities({})
        #: Increased when an object was added, removed or moved.
        self.generation = 0
        #: Increased when the facts of an existing object changed.
        self.revision = 0
        #: By name, the errors of queues that therefore take no jobs.
        self.queue_faults: dict[str, str] = {}
        #: By namespace; replaced and never edited.
        self.quotas: Mapping[str, tuple[Quota, ...]] = {}
        self._processors: dict[str, Processors] = {}
        #: Data of ConfigMaps by key; replaced and never edited.
        self.config_maps: Mapping[str, Mapping[str, str]] = {}
        self._node_faults: dict[str, str] = {}
        self._quota_faults: dict[str, str] = {}
        self._objects: dict[tuple[type, str], TopLevel] = {}

    def objects(self) -> list[TopLevel]:
        """All objects as received."""
        return list(self._objects.values())

    def find_queue(self, name: str) -> kube.KubeQueue | None:
        found = self._objects.get((kube.KubeQueue, name))
        return found if isinstance(found, kube.KubeQueue) else None

    def pool_of(self, node: str) -> Mapping[str, str]:
        """Values of the node selector's labels on a node; they are written on its pods at binding."""
        entry = self.nodes.get(node) if self._node_selector else None
        return {key: entry.facts.labels[key] for key in self._node_selector} if entry is not None else {}

    def find_node(self, name: str) -> kube.KubeNode | None:
        found = self._objects.get((kube.KubeNode, name))
        return found if isinstance(found, kube.KubeNode) else None

    def apply(self, given: TopLevel) -> bool:
        """Add or update an object; returns whether it is of a kind that is handled here."""
        if isinstance(given, kube.KubeNode):
            self._apply_node(given)
        elif isinstance(given, kube.KubeQueue):
            self._apply_queue(given)
        elif isinstance(given, kube.PriorityClass):
            self._keep(given)
            self._reread_priorities()
            return True
        elif isinstance(given, kube.ResourceQuota):
            self._apply_quota(given)
        elif isinstance(given, kube.ConfigMap):
            self.config_maps = {**self.config_maps, given.key: given.data or {}}
        else:
            return False
        self._keep(given)
        return True

    def remove(self, given: TopLevel) -> bool:
        """Remove an object; returns whether it is of a kind that is handled here."""
        self._objects.pop((type(given), given.key), None)
        if isinstance(given, kube.KubeNode):
            self._forget_node(given.key)
            self._node_faults.pop(given.key, None)
        elif isinstance(given, kube.KubeQueue):
            self._forget_queue(given.key)
            self.queue_faults.pop(given.key, None)
        elif isinstance(given, kube.PriorityClass):
            self._reread_priorities()
        elif isinstance(given, kube.ResourceQuota):
            self._forget_quota(given.key)
        elif isinstance(given, kube.ConfigMap):
            self.config_maps = {key: data for key, data in self.config_maps.items() if key != given.key}
        else:
            return False
        return True

    def _keep(self, given: TopLevel) -> None:
        self._objects[type(given), given.key] = given

    # -- nodes --------------------------------------------------------------------------------------------------

    def _apply_node(self, node: kube.KubeNode) -> None:
        name = node.key
        if not self._is_ours(node):
            self._forget_node(name)
            return
        try:
            belonging = self._shards.belonging(name, node.metadata.labels or {})
            facts = node_facts(node, self._processors.get(name), belonging)
            entry = NodeEntry(facts, allocatable_of(node, self._axis))
        except ValueError as error:
            self._node_faults[name] = f"Node {name}: {error}; the node is left out"
            self._forget_node(name)
            return
        self._node_faults.pop(name, None)
        known = self.nodes.get(name)
        if known is None:
            self.generation += 1
        elif known.offer != entry.offer or not same_facts(known.facts, entry.facts):
            self.revision += 1
        else:
            return
        self.nodes[name] = entry

    def set_processors(self, name: str, processors: Processors | None) -> None:
        """Set the CPU facts of a node, which arrive in a separate object; None if missing or invalid."""
        if processors is None:
            self._processors.pop(name, None)
        else:
            self._processors[name] = processors
        known = self.nodes.get(name)
        if known is not None and known.facts.processors != processors:
            self.nodes[name] = replace(known, facts=replace(known.facts, processors=processors))
            self.revision += 1

    def reshard(self) -> None:
        """Update which nodes belong to the shard."""
        if self._sharded_at == self._shards.revision:
            return
        self._sharded_at = self._shards.revision
        for name, known in self.nodes.items():
            belonging = self._shards.belonging(name, known.facts.labels)
            if belonging is not known.facts.belonging:
                self.nodes[name] = replace(known, facts=replace(known.facts, belonging=belonging))
                self.revision += 1

    def _is_ours(self, node: kube.KubeNode) -> bool:
        labels = node.metadata.labels or {}
        return all(labels.get(key) in values for key, values in self._node_selector.items())

    def _forget_node(self, name: str) -> None:
        if self.nodes.pop(name, None) is not None:
            self.generation += 1

    # -- queues -------------------------------------------------------------------------------------------------

    def _apply_queue(self, queue: kube.KubeQueue) -> None:
        name = queue.key
        try:
            entry = queue_of(queue, self._axis)
        except ValueError as error:
            self.generation += self.queue_faults.get(name) != f"Queue {name}: {error}"
            self.queue_faults[name] = f"Queue {name}: {error}"
            self._forget_queue(name)
            return
        self.queue_faults.pop(name, None)
        known = self.queues.get(name)
        if known is None or known.parent != entry.parent:
            self.generation += 1
        elif not same_queue_spec(known, entry):
            self.revision += 1
        else:
            return
        self.queues = {**self.queues, name: entry}

    def _forget_queue(self, name: str) -> None:
        if name in self.queues:
            self.queues = {other: queue for other, queue in self.queues.items() if other != name}
            self.generation += 1

    # -- priority classes ---------------------------------------------------------------------------------------

    def _reread_priorities(self) -> None:
        classes = {name: entry for (_, name), entry in self._objects.items() if isinstance(entry, kube.PriorityClass)}
        priorities = Priorities(classes)
        if priorities != self.priorities:
            self.priorities = priorities
            self.generation += 1

    # -- quotas -------------------------------------------------------------------------------------------------

    def _apply_quota(self, wire: kube.ResourceQuota) -> None:
        key = wire.key
        self._forget_quota(key)
        try:
            quota = quota_of(wire)
        except ValueError as error:
            self._quota_faults[key] = f"ResourceQuota {key}: {error}; the quota is left out"
            return
        if quota is not None:
            namespace = wire.metadata.namespace
            together = sorted((*self.quotas.get(namespace, ()), quota), key=lambda each: each.name)
            self.quotas = {**self.quotas, namespace: tuple(together)}

    def _forget_quota(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        self._quota_faults.pop(key, None)
        if namespace in self.quotas:
            left = tuple(quota for quota in self.quotas[namespace] if quota.name != name)
            self.quotas = {**self.quotas, namespace: left}

    # -- what is wrong ------------------------------------------------------------------------------------------

    def warnings(self) -> list[str]:
        """What is wrong with nodes, queues, quotas and shards."""
        wrong = [*self._node_faults.values(), *self._quota_faults.values()]
        wrong += [f"{fault}; the queue takes no jobs" for fault in self.queue_faults.values()]
        for name, fault in misplaced(self.queues).items():
            wrong.append(f"Queue {name}: {fault}; the queue hangs below the root")
        return [*wrong, *self._shards.warnings(self.nodes)]
