"""Queues: who may use how much, and the sums of what each one uses."""

from dataclasses import dataclass, field

from stromboli.core.model.resources.resources import Amounts, Request

ROOT = "root"
#: Annotations: where a queue stands for hierarchical shares (`root/science/physics`), and what each level weighs.
HIERARCHY, HIERARCHY_WEIGHTS = "volcano.sh/hierarchy", "volcano.sh/hierarchy-weights"


@dataclass(frozen=True, slots=True)
class NodeGroups:
    """The groups of nodes that a queue uses and avoids, by name; a group it must use comes before one it would like."""

    required: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    disliked: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.required or self.preferred or self.forbidden or self.disliked)


NO_NODE_GROUPS = NodeGroups()


@dataclass(slots=True, eq=False)
class Queue:
    """What the owner of the cluster promised a queue. Amounts are sparse: a resource not named is not limited."""

    name: str
    uid: str
    weight: int = 1
    priority: int = 0
    parent: str = ""
    created: float = 0.0
    state: str = "Open"
    reclaimable: bool = True
    capability: Request = ()
    guarantee: Request = ()
    deserved: Request = ()
    annotations: dict[str, str] = field(default_factory=dict)
    node_groups: NodeGroups = NO_NODE_GROUPS

    @property
    def is_open(self) -> bool:
        return self.state in ("Open", "")


@dataclass(slots=True, eq=False)
class QueueUsage:
    """The sums of one queue, its descendants included. Only the ledger writes them."""

    name: str
    #: What tasks hold on nodes, pipelined ones included.
    allocated: Amounts
    #: What they hold plus what pending tasks ask for.
    request: Amounts
    #: Room promised to admitted jobs that they do not hold yet.
    inqueue: Amounts
    #: What jobs hold above their minimum.
    elastic: Amounts
    #: This queue and its ancestors, nearest first.
    chain: tuple["QueueUsage", ...] = ()
    #: Jobs that name this very queue.
    jobs: int = 0

    @classmethod
    def empty(cls, name: str, size: int) -> "QueueUsage":
        return cls(name, [0] * size, [0] * size, [0] * size, [0] * size)

    def copy(self) -> "QueueUsage":
        """A copy without its chain, which only makes sense among the copies."""
        return QueueUsage(
            self.name, self.allocated[:], self.request[:], self.inqueue[:], self.elastic[:], (), self.jobs
        )
