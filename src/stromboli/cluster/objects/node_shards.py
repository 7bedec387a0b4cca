"""NodeShards: the nodes of this scheduler's shard, by object or by node labels.

A shard has the nodes that it desires, except those that other shards still use. In a live cluster two schedulers may
observe a change at different times, so there the scheduler passes the nodes that it holds for certain (`grant`), and
only these count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stromboli.core.model.nodes.shards import ShardChoice, ShardMembership
from stromboli.kube.objects.shards import NodeShard

#: Maximum number of names in a warning; the object has the full list.
_MAX_NAMES = 5


class NodeShards:
    """All NodeShards, and which nodes belong to this scheduler."""

    def __init__(self, choice: ShardChoice | None = None, granted: Collection[str] | None = None) -> None:
        self.choice = choice
        #: Nodes that belong to this shard for certain; None where the objects alone decide.
        self.granted: frozenset[str] | None = None if granted is None else frozenset(granted)
        #: Increased when a node may have changed its shard.
        self.revision = 0
        self._objects: dict[str, NodeShard] = {}
        self._desired: frozenset[str] = frozenset()
        self._used_by_others: frozenset[str] = frozenset()

    def apply(self, shard: NodeShard) -> None:
        self._objects[shard.key] = shard
        self._update()

    def remove(self, shard: NodeShard) -> None:
        self._objects.pop(shard.key, None)
        self._update()

    def objects(self) -> list[NodeShard]:
        return list(self._objects.values())

    def grant(self, nodes: Collection[str]) -> None:
        """Assign exactly these nodes to the shard, regardless of the objects."""
        granted = frozenset(nodes)
        if granted != self.granted:
            self.granted = granted
            self.revision += 1

    def _update(self) -> None:
        if self.choice is None:
            return
        own = self._objects.get(self.choice.name)
        desired = frozenset((own.spec.nodes_desired or ()) if own is not None else ())
        others = [each for each in self._objects.values() if each is not own]
        in_use = frozenset(node for each in others for node in each.status.nodes_in_use or ())
        if (desired, in_use) != (self._desired, self._used_by_others):
            self._desired, self._used_by_others = desired, in_use
            self.revision += 1

    def wants(self, node: str, labels: Mapping[str, str]) -> bool:
        """Report whether a node should belong to the shard, regardless of its current user. Listed names override
        labels.
        """
        choice = self.choice
        if choice is None or choice.selector is None or self._desired:
            return node in self._desired
        return choice.selector.matches(labels)

    def belonging(self, node: str, labels: Mapping[str, str]) -> ShardMembership:
        if self.choice is None:
            return ShardMembership.OURS
        if self.granted is not None:
            is_ours = node in self.granted
        else:
            is_ours = node not in self._used_by_others and self.wants(node, labels)
        return ShardMembership.OURS if is_ours else self.choice.outside

    def warnings(self, nodes: Collection[str]) -> list[str]:
        """Return the warnings about the shard, if these nodes exist."""
        choice = self.choice
        if choice is None:
            return []
        if choice.selector is None and choice.name not in self._objects:
            known = ", ".join(sorted(self._objects)) or "none"
            return [f"NodeShard {choice.name} does not exist, so no node is in the shard; there are: {known}"]
        wrong = []
        if choice.selector is not None and self._desired:
            wrong.append("spec.nodesDesired and the label selector both select nodes; the selector is ignored")
        if unknown := self._desired - frozenset(nodes):
            named = ", ".join(sorted(unknown)[:_MAX_NAMES])
            more = f" and {len(unknown) - _MAX_NAMES} more" if len(unknown) > _MAX_NAMES else ""
            wrong.append(f"spec.nodesDesired names nodes that do not exist: {named}{more}")
        return [f"NodeShard {choice.name}: {each}" for each in wrong]


def relevant_fields(shard: NodeShard) -> tuple[object, ...]:
    return shard.spec, shard.status.nodes_in_use
