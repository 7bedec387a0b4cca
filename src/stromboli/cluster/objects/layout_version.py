"""Version of the layout: of the nodes and queues that the columns and chains of the accounting depend on."""

from dataclasses import dataclass

from stromboli.core.model.nodes.table import Node
from stromboli.core.model.queues.queue import Queue


@dataclass(slots=True)
class LayoutVersion:
    #: Increased when a node, queue or priority class was added, removed or moved: the accounting is rebuilt.
    generation: int = 0
    #: Increased when only the facts of existing nodes and queues changed: the columns stay, the facts are replaced.
    revision: int = 0


def has_same_fields(one: Node | Queue, other: Node | Queue) -> bool:
    """Report whether two objects of the same type, which compare by identity, are equal."""
    return all(getattr(one, field) == getattr(other, field) for field in one.__slots__)
