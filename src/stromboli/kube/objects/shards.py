"""Volcano's NodeShards: which scheduler uses which nodes."""

from typing import ClassVar

import msgspec

from stromboli.kube.objects.meta import Int64, TopLevel, Wire


class NodeShardSpec(Wire):
    """Names of the nodes that the shard should have."""

    nodes_desired: list[str] | None = None


class NodeShardStatus(Wire):
    """State of the shard, written by its scheduler."""

    last_update_time: str | None = None
    #: Number of nodes in use; a field of Stromboli, for printer columns.
    node_count: Int64 | None = None
    #: Nodes on which the scheduler may place pods. Other schedulers do not use them until they are removed from here.
    nodes_in_use: list[str] | None = None
    #: Nodes in use that are about to be released.
    nodes_to_remove: list[str] | None = None
    #: Nodes that the scheduler waits for.
    nodes_to_add: list[str] | None = None


class NodeShard(TopLevel):
    """A set of nodes for one scheduler."""

    kind_name: ClassVar[str] = "NodeShard"
    group: ClassVar[str] = "shard.volcano.sh"

    spec: NodeShardSpec = msgspec.field(default_factory=NodeShardSpec)
    status: NodeShardStatus = msgspec.field(default_factory=NodeShardStatus)
