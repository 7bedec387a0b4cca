"""Version of the layout: of the nodes and queues that the columns and chains of the accounting depend on."""

from dataclasses import dataclass


@dataclass(slots=True)
class LayoutVersion:
    #: Increased when a node, queue or priority class was added, removed or moved: the accounting is rebuilt.
    generation: int = 0
    #: Increased when only the facts of existing nodes and queues changed: the columns stay, the facts are replaced.
    revision: int = 0
