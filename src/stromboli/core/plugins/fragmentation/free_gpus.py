"""The free GPUs of nodes, entire and shared ones, as columns."""

from __future__ import annotations

import numpy as np

from stromboli.core.model.devices.gpu_fractions import WHOLE
from stromboli.core.model.devices.shared_devices import SharedDeviceRequest
from stromboli.core.model.devices.shared_gpus import SharedGpus
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.resources.resources import CPU, MEMORY
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.fragmentation.usable import FreeCapacity, Numbers, PodRequest


class _PartsTable:
    """What is left of the shared GPUs of all nodes, now or later, read again where it has changed."""

    def __init__(self, shared: SharedGpus, nodes: int, *, later: bool) -> None:
        self._shared, self._later = shared, later
        self._seen: list[object] = [None] * nodes
        #: One row per GPU, and a last row of zeros.
        self.left: Numbers = np.zeros((1, nodes), dtype=np.int64)
        self.slack: Numbers = np.zeros(nodes, dtype=np.int64)

    def refresh(self, rows: list[int]) -> None:
        shared, seen = self._shared, self._seen
        for row in rows:
            state = shared.state_of(row)
            if state is not seen[row]:
                seen[row] = state
                self._read(row)

    def _read(self, row: int) -> None:
        left = self._shared.left_on(row, later=self._later)
        missing = len(left) + 1 - len(self.left)
        if missing > 0:
            self.left = np.vstack((self.left, np.zeros((missing, self.left.shape[1]), dtype=np.int64)))
        self.left[:, row] = 0
        self.left[: len(left), row] = left
        self.slack[row] = self._shared.slack_on(row, later=self._later)


class FreeGpus:
    def __init__(self, shared: SharedGpus | None, nodes: int, dimension: int) -> None:
        self._shared, self._dimension = shared, dimension
        self._all = list(range(nodes))
        self._tables = [_PartsTable(shared, nodes, later=later) for later in (False, True)] if shared else []
        self.packs = shared.packs if shared else True

    def request_of(self, task_class: TaskClass) -> SharedDeviceRequest | None:
        return self._shared.request_of(task_class) if self._shared else None

    def of(self, rows: Rows) -> FreeCapacity:
        """Return what these nodes have left: now, or after all releasing pods are gone."""
        amount = rows.future_idle if rows.later else rows.idle
        gpus = amount(self._dimension)
        if not self._tables:
            none = np.zeros((1, len(rows)), dtype=np.int64)
            return FreeCapacity(amount(CPU), amount(MEMORY), np.maximum(gpus, 0) // WHOLE, none)
        table = self._tables[rows.later]
        table.refresh(self._all if rows.index is None else rows.index.tolist())
        slack, parts = (
            (table.slack, table.left) if rows.index is None else (table.slack[rows.index], table.left[:, rows.index])
        )
        return FreeCapacity(amount(CPU), amount(MEMORY), np.maximum(gpus - slack, 0) // WHOLE, parts)

    def portions(self, pod: PodRequest, rows: Rows) -> Numbers | None:
        """Return the share of a GPU that the pod needs on these nodes, in thousandths; None for whole GPUs."""
        shared, request = self._shared, pod.shares
        if shared is None or request is None:
            return None
        if request.portion:
            return np.full(len(rows), request.portion, dtype=np.int64)
        index = self._all if rows.index is None else rows.index.tolist()
        return np.array([shared.portion_on(request, row) for row in index], dtype=np.int64)
