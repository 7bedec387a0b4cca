"""The nodes with GPU shares or whole GPUs left for pods of a class: columns, updated row by row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stromboli.core.model.devices.shared_devices import SharedDeviceRequest
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.gpusharing.accounting import SharedGpuState
from stromboli.core.plugins.gpusharing.node_shares import GpuPick
from stromboli.core.search.node_rules import Locality, NodeFilter, NodeScorer

_POINTS = 100.0


class _GpuColumn:
    """The answers for one class, now or later."""

    __slots__ = ("fits", "fresh", "joins")

    def __init__(self, size: int) -> None:
        self.fits: Mask = np.zeros(size, dtype=np.bool_)
        #: Nodes where the pod would only join shared GPUs.
        self.joins: Mask = np.zeros(size, dtype=np.bool_)
        #: The position in the ledger's log up to which the answers are valid; none before the first answer.
        self.fresh = -1


class GpuColumns:
    def __init__(self, state: SharedGpuState) -> None:
        self.state = state
        self._columns: dict[tuple[int, bool], _GpuColumn] = {}

    def open(self) -> None:
        """Drop the columns of the previous cycle."""
        self._columns = {}

    def column(self, task_class: TaskClass, ledger: Ledger, *, later: bool) -> _GpuColumn:
        key, log, request = (task_class.number, later), ledger.log, self.state.request_of(task_class)
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = _GpuColumn(len(ledger.nodes))
        if column.fresh != log.position and request is not None:
            rows: Iterable[int] = set(log.since(column.fresh).tolist()) if column.fresh >= 0 else ()
            if column.fresh < 0:
                column.fits, rows = self.state.takes_unshared(request, later=later), self.state.shared_rows()
            self._answer(column, request, rows, later=later)
            column.fresh = log.position
        return column

    def _answer(self, column: _GpuColumn, request: SharedDeviceRequest, rows: Iterable[int], *, later: bool) -> None:
        for row in rows:
            found: GpuPick | None = self.state.pick(request, row, later=later)
            column.fits[row] = found is not None
            column.joins[row] = found is not None and not found.fresh


class GpuShareFilter(NodeFilter):
    """A placement changes what is left in ways that the amounts of a row do not show: pods are placed one at a time."""

    locality = Locality.CLUSTER

    def __init__(self, columns: GpuColumns) -> None:
        self._columns = columns

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return self._columns.state.request_of(task_class) is not None

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        fits = self._columns.column(task_class, ledger, later=rows.later).fits
        return fits.copy() if rows.index is None else fits[rows.index]

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        state, request, left = self._columns.state, self._columns.state.request_of(task_class), refused.copy()
        if request is not None and request.memory:
            silent = left & np.array([not node.memory for node in state.rows], dtype=np.bool_)
            if silent.any():
                message = "node(s) did not report their GPU memory"
                yield Reason(Code.NO_DEVICES, message, short="GPU memory not reported"), np.flatnonzero(silent)
            left &= ~silent
            small = left & np.array([node.memory < request.memory for node in state.rows], dtype=np.bool_)
            if small.any():
                message = "node(s) had no GPUs with so much memory"
                yield Reason(Code.NO_DEVICES, message, short="no GPU with so much memory"), np.flatnonzero(small)
            left &= ~small
        if left.any():
            message = "node(s) didn't have enough free GPUs"
            yield Reason(Code.DEVICES_IN_USE, message, short="too few free GPUs"), np.flatnonzero(left)


class WholeGpuFilter(NodeFilter):
    """A request for whole GPUs gets no shared GPU: the unused part of a shared GPU is unavailable."""

    locality = Locality.ROW

    def __init__(self, state: SharedGpuState) -> None:
        self._state = state

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return self._state.wants_whole_gpus(task_class) > 0

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        dimension, wanted = self._state.dimension, self._state.wants_whole_gpus(task_class)
        admitted: Mask = np.ones(len(rows), dtype=np.bool_)
        if not rows.later:
            admitted &= rows.idle(dimension) - self._of(self._state.slack, rows) >= wanted
        if rows.later or ledger.holds_nominated:
            admitted &= rows.future_idle(dimension) - self._of(self._state.later_slack, rows) >= wanted
        return admitted

    @staticmethod
    def _of(slack: Index, rows: Rows) -> Index:
        return slack if rows.index is None else slack[rows.index]

    def refusal(self, task_class: TaskClass) -> Reason:
        message = "node(s) had only fractions of shared GPUs left"
        return Reason(Code.DEVICES_IN_USE, message, short="only fractions of GPUs left")


class GpuShareScorer(NodeScorer):
    """Prefers nodes on which a pod would join shared GPUs, so that other GPUs stay whole."""

    locality = Locality.CLUSTER

    def __init__(self, columns: GpuColumns, weight: float) -> None:
        self._columns = columns
        self._weight = weight

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return self._columns.state.request_of(task_class) is not None

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        joins = self._columns.column(task_class, ledger, later=rows.later).joins
        shown = joins if rows.index is None else joins[rows.index]
        return np.where(shown, _POINTS * self._weight, 0.0)
