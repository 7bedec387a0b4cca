"""The tree of queues, level by level, and the queues that have no place in it.

A queue whose ancestors do not lead to the root has no defined limits. It is detached with all its descendants; the rest
of the tree is unaffected.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.queues.queue import ROOT, Queue

Rows = NDArray[np.int64]


class QueueTree:
    """The queues that hang below the root, one row each; row 0 is the root, and parents come before children."""

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        children: dict[str, list[str]] = {}
        for name, queue in queues.items():
            if name != ROOT:
                children.setdefault(queue.parent or ROOT, []).append(name)
        self.queues = [queues.get(ROOT) or Queue(ROOT, ROOT)]
        parents = [0]
        #: The rows of each level below the root.
        self.levels: list[Rows] = []
        above, first = [ROOT], 0
        while above:
            level = [(name, first + place) for place, parent in enumerate(above) for name in children.get(parent, ())]
            first = len(self.queues)
            self.queues += [queues[name] for name, _ in level]
            parents += [parent for _, parent in level]
            if level:
                self.levels.append(np.arange(first, first + len(level)))
            above = [name for name, _ in level]
        self.parents: Rows = np.array(parents, dtype=np.int64)
        self.row = {queue.name: row for row, queue in enumerate(self.queues)}
        #: Queues that have queues below them.
        self.inner = frozenset(children)
        #: By name, why a queue is cut off.
        self.cut_off = {name: _fault(name, queues) for name in queues if name not in self.row}

    def chain(self, row: int) -> list[int]:
        """A row and those above it, the root last."""
        chain = [row]
        while chain[-1]:
            chain.append(int(self.parents[chain[-1]]))
        return chain


def _fault(name: str, queues: Mapping[str, Queue]) -> str:
    """Describe the nearest queue, from here upwards, that has no place."""
    seen = [name]
    while (parent := queues[seen[-1]].parent) in queues:
        if parent in seen:
            return f"queue {parent} is its own ancestor; correct its spec.parent"
        seen.append(parent)
    return f"spec.parent of queue {seen[-1]}: queue {parent!r} does not exist; create it or name another"
