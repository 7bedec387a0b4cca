"""Queues: their limits and shares, and the sums of what each one uses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stromboli.core.model.resources.resources import Amounts, Request, add_request

ROOT = "root"
#: Annotations: path of a queue for hierarchical shares (`root/science/physics`), and the weight of each level.
HIERARCHY, HIERARCHY_WEIGHTS = "volcano.sh/hierarchy", "volcano.sh/hierarchy-weights"


@dataclass(frozen=True, slots=True)
class NodeGroups:
    """Node groups that a queue uses and avoids, by name; required groups take precedence over preferred ones."""

    required: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    disliked: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.required or self.preferred or self.forbidden or self.disliked)


NO_NODE_GROUPS = NodeGroups()


@dataclass(slots=True, eq=False)
class Queue:
    """The configuration of a queue. Amounts are sparse: a resource that is not named is not limited."""

    name: str
    uid: str
    weight: int = 1
    priority: int = 0
    parent: str = ""
    created: float = 0.0
    state: str = "Open"
    reclaimable: bool = True
    #: Whether a job that waits holds back later ones on the nodes that both may use.
    strict: bool = False
    capability: Request = ()
    guarantee: Request = ()
    deserved: Request = ()
    annotations: dict[str, str] = field(default_factory=dict)
    node_groups: NodeGroups = NO_NODE_GROUPS

    @property
    def is_open(self) -> bool:
        return self.state in ("Open", "")


def ancestry(queues: Mapping[str, Queue], name: str) -> list[str]:
    """Return a queue and its ancestors up to the root, as far as they exist. A circle ends where it begins."""
    line: list[str] = []
    while name in queues and name not in line:
        line.append(name)
        name = queues[name].parent or ROOT
    return line


@dataclass(slots=True, eq=False)
class QueueUsage:
    """The sums of one queue, including its descendants. Only the ledger writes them."""

    name: str
    #: Resources of placed tasks, including pipelined ones.
    allocated: Amounts
    #: Allocated resources plus requests of pending tasks.
    request: Amounts
    #: Minimum resources of admitted jobs that are not allocated yet.
    inqueue: Amounts
    #: Resources that jobs hold above their minimum.
    elastic: Amounts
    #: This queue and its ancestors, nearest first.
    chain: tuple["QueueUsage", ...] = ()
    #: Jobs in this queue itself.
    jobs: int = 0

    @classmethod
    def empty(cls, name: str, size: int) -> "QueueUsage":
        return cls(name, [0] * size, [0] * size, [0] * size, [0] * size)

    def copy(self) -> "QueueUsage":
        """Copy without the chain, which is rebuilt among the copies."""
        return QueueUsage(
            self.name, self.allocated[:], self.request[:], self.inqueue[:], self.elastic[:], (), self.jobs
        )


def real_capability(queue: Queue, unguaranteed: Sequence[int]) -> Amounts:
    """Return the most that a queue may use: its capability, within its guarantee and what all guarantees leave."""
    most = list(unguaranteed)
    add_request(most, queue.guarantee)
    for dimension, amount in queue.capability:
        most[dimension] = min(most[dimension], amount)
    return most
