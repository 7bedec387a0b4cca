"""Shards: the nodes of a scheduler, where several schedulers share a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from stromboli.core.model.tasks.selectors import LabelSelector


class ShardMode(StrEnum):
    """The treatment of nodes outside the shard of a scheduler."""

    #: Does not use them.
    HARD = "hard"
    #: Uses them as a last resort.
    SOFT = "soft"


class ShardMembership(IntEnum):
    """The relation of a node to the shard of this scheduler."""

    #: In the shard, as every node is without shards.
    OURS = 0
    #: In another shard; used as a last resort.
    LAST = 1
    #: In another shard; never a candidate.
    EXCLUDED = 2


@dataclass(frozen=True, slots=True)
class ShardChoice:
    """The configured shard of a scheduler: a NodeShard by name, nodes by label, or both: then labels select the nodes,
    and the NodeShard records their user.
    """

    mode: ShardMode
    name: str = ""
    #: None if the NodeShard lists the nodes.
    selector: LabelSelector | None = field(default=None)

    @property
    def outside(self) -> ShardMembership:
        """The relation of nodes outside the shard."""
        return ShardMembership.EXCLUDED if self.mode is ShardMode.HARD else ShardMembership.LAST
