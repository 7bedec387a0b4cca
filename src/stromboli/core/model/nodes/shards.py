"""Which nodes are a scheduler's own, where several schedulers share a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from stromboli.core.model.tasks.selectors import LabelSelector


class ShardMode(StrEnum):
    """What a scheduler does with the nodes outside of its shard."""

    #: It leaves them alone.
    HARD = "hard"
    #: It uses them when its own will not do.
    SOFT = "soft"


class Belonging(IntEnum):
    """How a node stands to our shard."""

    #: Ours, as every node is where there are no shards.
    OURS = 0
    #: Another's, to be used when ours will not do.
    LAST = 1
    #: Another's, and no candidate for anything.
    EXCLUDED = 2


@dataclass(frozen=True, slots=True)
class ShardChoice:
    """The shard that a scheduler was told to serve: a NodeShard by its name, nodes by their labels, or both, where the
    labels say which nodes, and the NodeShard who uses them.
    """

    mode: ShardMode
    name: str = ""
    #: None where the NodeShard says which nodes.
    selector: LabelSelector | None = field(default=None)

    @property
    def outside(self) -> Belonging:
        """What the nodes are that are not ours."""
        return Belonging.EXCLUDED if self.mode is ShardMode.HARD else Belonging.LAST
