"""Log of changed node rows: a reader that keeps its position finds out which rows to evaluate again."""

from collections.abc import Sequence

import numpy as np

from stromboli.core.model.nodes.table import Index


class ChangeLog:
    """Node rows in the order in which they changed. Positions only grow; a row may occur many times."""

    __slots__ = ("_entries", "position")

    def __init__(self) -> None:
        self._entries: Index = np.zeros(4096, dtype=np.int64)
        #: Number of changes so far.
        self.position = 0

    def add(self, rows: Sequence[int]) -> None:
        end = self.position + len(rows)
        if end > len(self._entries):
            self._entries = np.concatenate((self._entries, np.zeros(max(end, len(self._entries)), dtype=np.int64)))
        self._entries[self.position : end] = rows
        self.position = end

    def since(self, position: int) -> Index:
        """Return the rows that changed after `position`. A view: read it before the next change."""
        return self._entries[position : self.position]
