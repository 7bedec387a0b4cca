"""Task columns of the cache: one row per pod, reused when the pod is removed."""

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.tasks.task import TaskStatus

_FIRST_ROWS = 1024


class TaskColumns:
    """Status and node row of every task."""

    def __init__(self) -> None:
        self.status: NDArray[np.int8] = np.zeros(_FIRST_ROWS, dtype=np.int8)
        self.node_of: NDArray[np.int32] = np.full(_FIRST_ROWS, -1, dtype=np.int32)
        self._used = 0
        self._free: list[int] = []

    def take(self, status: TaskStatus, node: int) -> int:
        """Allocate a row for a new task."""
        row = self._free.pop() if self._free else self._next()
        self.status[row], self.node_of[row] = status.value, node
        return row

    def give_back(self, row: int) -> None:
        self.status[row], self.node_of[row] = 0, -1
        self._free.append(row)

    def _next(self) -> int:
        if self._used == len(self.status):
            self.status = np.concatenate((self.status, np.zeros_like(self.status)))
            self.node_of = np.concatenate((self.node_of, np.full_like(self.node_of, -1)))
        self._used += 1
        return self._used - 1

    def copies(self) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        return self.status[: self._used].copy(), self.node_of[: self._used].copy()
