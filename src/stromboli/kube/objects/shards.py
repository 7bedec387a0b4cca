"""Which scheduler of several uses which nodes, as Volcano writes it down."""

from typing import ClassVar

import msgspec

from stromboli.kube.objects.meta import Int64, TopLevel, Wire


class NodeShardSpec(Wire):
    """Names of nodes that the shard should have."""

    nodes_desired: list[str] | None = None


class NodeShardStatus(Wire):
    """What the scheduler of the shard says of itself."""

    last_update_time: str | None = None
    #: How many nodes are in use; a field of ours, for tables.
    node_count: Int64 | None = None
    #: Nodes on which it may place pods. Others keep away from them until they are gone from here.
    nodes_in_use: list[str] | None = None
    #: Nodes in use that it is about to give up.
    nodes_to_remove: list[str] | None = None
    #: Nodes that it waits for.
    nodes_to_add: list[str] | None = None


class NodeShard(TopLevel):
    """A part of the nodes, for one scheduler."""

    kind_name: ClassVar[str] = "NodeShard"
    group: ClassVar[str] = "shard.volcano.sh"

    spec: NodeShardSpec = msgspec.field(default_factory=NodeShardSpec)
    status: NodeShardStatus = msgspec.field(default_factory=NodeShardStatus)
