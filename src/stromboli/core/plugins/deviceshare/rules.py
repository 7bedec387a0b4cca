"""The nodes with devices left for pods of a class, and their scores: a column each, updated row by row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.deviceshare.accounting import DeviceState
from stromboli.core.search.node_rules import Locality, NodeFilter, NodeScorer


class _DeviceColumn:
    """The answers for one class, now or later."""

    __slots__ = ("fits", "fresh", "points")

    def __init__(self, size: int) -> None:
        self.fits: Mask = np.zeros(size, dtype=np.bool_)
        self.points: Vector = np.zeros(size)
        #: The position in the ledger's log up to which the answers are valid; none before the first answer.
        self.fresh = -1


class DeviceColumns:
    """The combined results of all back-ends about nodes."""

    def __init__(self, states: Sequence[DeviceState]) -> None:
        self._books = states
        self._columns: dict[tuple[int, bool], _DeviceColumn] = {}

    def open(self) -> None:
        """Drop the columns of the previous cycle."""
        self._columns = {}

    def concerned(self, task_class: TaskClass) -> list[DeviceState]:
        if task_class.devices is None:
            return []
        return [each for each in self._books if each.wanted(task_class) is not None]

    def column(self, task_class: TaskClass, ledger: Ledger, *, later: bool) -> _DeviceColumn:
        key, log = (task_class.number, later), ledger.log
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = _DeviceColumn(len(ledger.nodes))
        if column.fresh != log.position:
            rows = range(len(ledger.nodes)) if column.fresh < 0 else set(log.since(column.fresh).tolist())
            self._answer(column, task_class, rows, later=later)
            column.fresh = log.position
        return column

    def _answer(self, column: _DeviceColumn, task_class: TaskClass, rows: Iterable[int], *, later: bool) -> None:
        states = self.concerned(task_class)
        for row in rows:
            picks = [each.pick(task_class, row, later=later) for each in states]
            column.fits[row] = None not in picks
            column.points[row] = round(sum(pick.score for pick in picks if pick is not None))


class DeviceFilter(NodeFilter):
    """A placement changes what is left in ways that the amounts of a row do not show: pods are placed one at a time."""

    locality = Locality.CLUSTER

    def __init__(self, columns: DeviceColumns) -> None:
        self._columns = columns

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(self._columns.concerned(task_class))

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        fits = self._columns.column(task_class, ledger, later=rows.later).fits
        return fits.copy() if rows.index is None else fits[rows.index]

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        left = refused.copy()
        for each in self._columns.concerned(task_class):
            description = each.backend.devices_description
            without = left & np.array([node is None for node in each.rows], dtype=np.bool_)
            if without.any():
                reason = Reason(
                    Code.NO_DEVICES, f"node(s) had no {description} to share", short=f"no {description} to share"
                )
                yield reason, np.flatnonzero(without)
            left &= ~without
        if left.any():
            description = self._columns.concerned(task_class)[0].backend.devices_description
            detail = f"node(s) didn't have enough free {description}"
            yield Reason(Code.DEVICES_IN_USE, detail, short=f"too few free {description}"), np.flatnonzero(left)


class DeviceScorer(NodeScorer):
    """Prefers nodes on which a pod would get fuller devices, or emptier ones."""

    locality = Locality.CLUSTER

    def __init__(self, columns: DeviceColumns, weight: float) -> None:
        self._columns = columns
        self._weight = weight

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(self._weight and self._columns.concerned(task_class))

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        points = self._columns.column(task_class, ledger, later=rows.later).points * self._weight
        return points if rows.index is None else points[rows.index]
