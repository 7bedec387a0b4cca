"""Amounts of nodes as a cycle changes them, and the log of changed rows."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from stromboli.core.model.nodes.amounts import AmountLayout, Block, Effect, Rows
from stromboli.core.model.nodes.table import Index, NodeTable
from stromboli.core.model.tasks.task import TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass

#: Up to this many rows are checked one by one.
_FEW = 16


class ChangeLog:
    """Node rows in the order in which they changed: a reader that keeps its position finds the rows to evaluate again.

    Positions only grow, by one for every placed task, so that a reader recognizes its own placements by the position; a
    row may occur many times.
    """

    __slots__ = ("_entries", "position")

    def __init__(self) -> None:
        self._entries: Index = np.zeros(4096, dtype=np.int64)
        #: Number of changes so far.
        self.position = 0

    def add_one(self, row: int) -> None:
        if self.position < len(self._entries):
            self._entries[self.position] = row
            self.position += 1
        else:
            self.add((row,))

    def add(self, rows: Sequence[int]) -> None:
        end = self.position + len(rows)
        if end > len(self._entries):
            self._entries = np.concatenate((self._entries, np.zeros(max(end, len(self._entries)), dtype=np.int64)))
        self._entries[self.position : end] = rows
        self.position = end

    def since(self, position: int) -> Index:
        """Return the rows that changed after `position`. A view: read it before the next change."""
        return self._entries[position : self.position]


class NodeLedger:
    """The amounts of all nodes. Every write is logged."""

    def __init__(self, nodes: NodeTable, layout: AmountLayout, amounts: Block) -> None:
        self.nodes = nodes
        self.layout = layout
        self.amounts = amounts
        self.log = ChangeLog()
        #: All nodes; and all nodes for queries in which only those with enough capacity matter.
        self.all_rows = Rows(amounts, layout, nodes)
        self.candidate_rows = Rows(amounts, layout, nodes, certain=True)
        #: All nodes, for queries about waiting for them.
        self.future_rows = Rows(amounts, layout, nodes, later=True)
        #: The rows that an allocation changes, and those that any operation changes.
        self._front = amounts[: layout.releasing]
        self._changing = amounts[: layout.changing]
        #: By status and number of the class.
        self._effects: list[dict[int, Effect]] = [{} for _ in TaskStatus]
        self._eviction_effects: dict[int, Effect] = {}
        self._dimensions: dict[int, Index] = {}

    @cached_property
    def nominated(self) -> Block:
        """Nominated and reserved amount of each resource on each node."""
        return np.zeros((self.layout.resources, len(self.nodes)), dtype=np.int64)

    @property
    def has_releasing(self) -> bool:
        """Report whether any node is releasing resources: otherwise waiting for one is useless."""
        return bool(self.amounts[self.layout.releasing : self.layout.allocatable].any())

    @property
    def is_scored_as_used(self) -> bool:
        """Report whether the amounts that scorers count equal the used amounts on every node."""
        used, scored = self.layout.used, self.layout.scored
        return bool((self.amounts[scored : scored + 2] == self.amounts[used : used + 2]).all())

    def rows(self, index: Index, *, certain: bool = False, later: bool = False) -> Rows:
        """Return the amounts of some nodes."""
        block = self._front.take(index, axis=1)
        return Rows(self.amounts, self.layout, self.nodes, index, block, self.all_rows, certain=certain, later=later)

    def hypothetical(self, index: Index, copies: Index, task_class: TaskClass, *, certain: bool = False) -> Rows:
        """Return nodes `index` as they would be after `copies` more tasks of the class, entry by entry."""
        block = self._front.take(index, axis=1)
        effect = self.effect(task_class, TaskStatus.ALLOCATED)
        block += effect[: self.layout.releasing, None] * copies
        return Rows(self.amounts, self.layout, self.nodes, index, block, self.all_rows, copies=copies, certain=certain)

    def effect(self, task_class: TaskClass, status: TaskStatus) -> Effect:
        """Return what one task of the class in this status adds to its node."""
        effects = self._effects[status]
        effect = effects.get(task_class.number)
        if effect is None:
            effect = effects[task_class.number] = self.layout.effect(task_class, status)
        return effect

    def effect_of_eviction(self, task_class: TaskClass) -> Effect:
        """Return what evicting a placed task of the class adds to its node."""
        effect = self._eviction_effects.get(task_class.number)
        if effect is None:
            effect = self._eviction_effects[task_class.number] = self.layout.effect_of_eviction(task_class)
        return effect

    def add(self, rows: Sequence[int], effect: Effect) -> tuple[Index | int, Block]:
        """Add an effect once per row; return the changed columns with their previous amounts."""
        changing = self._changing
        row, number = rows[0], len(rows)
        if number == 1:
            self.log.add_one(row)
            column = changing[:, row]
            saved = column.copy()
            column += effect
            return row, saved
        if rows.count(row) == number:
            self.log.add(rows)
            saved = changing[:, row].copy()
            changing[:, row] = saved + effect * number
            return row, saved
        self.log.add(rows)
        added = effect[:, None]
        if len(set(rows)) == len(rows):
            columns = np.array(rows, dtype=np.int64)
        else:
            columns, copies = _distinct(rows)
            added = added * copies
        saved = changing.take(columns, axis=1)
        changing[:, columns] = saved + added
        return columns, saved

    def restore(self, columns: Index | int, saved: Block) -> None:
        """Write previous amounts back."""
        self._changing[:, columns] = saved

    def reserve(self, capacity: Block, sign: int) -> None:
        """Reserve capacity by resource and node, or, with -1, release it."""
        start = self.layout.pipelined
        self.amounts[start : start + len(capacity)] += sign * capacity
        self.nominated += sign * capacity
        self.log.add(np.flatnonzero(capacity.any(axis=0)).tolist())

    def is_overcommitted(self, task_class: TaskClass, columns: Index | int, status: TaskStatus) -> bool:
        """Report whether a row that was just written is negative, now or in the future, in a requested dimension."""
        if isinstance(columns, int):
            if status is not TaskStatus.PIPELINED:
                return self._is_row_overcommitted(task_class, columns)
            return self._are_few_overcommitted(task_class, (columns,), status)
        if len(columns) <= _FEW:
            return self._are_few_overcommitted(task_class, columns.tolist(), status)
        amounts, dimensions = self.amounts, self._dimensions_of(task_class)
        left = amounts[dimensions, columns]
        if status is TaskStatus.PIPELINED:
            layout = self.layout
            releasing, pipelined = amounts[layout.releasing + dimensions, columns], layout.pipelined + dimensions
            left = left + (releasing - amounts[pipelined, columns])
        return bool(left.min() < 0)

    def _is_row_overcommitted(self, task_class: TaskClass, row: int) -> bool:
        item = self.amounts.item
        for dimension, _ in task_class.request:  # noqa: SIM110 - called for every task, and twice as fast
            if item(dimension, row) < 0:
                return True
        return False

    def _are_few_overcommitted(self, task_class: TaskClass, rows: Sequence[int], status: TaskStatus) -> bool:
        """Check a few rows: called for every task or small gang, so it uses plain numbers."""
        item, later = self.amounts.item, status is TaskStatus.PIPELINED
        releasing, pipelined = self.layout.releasing, self.layout.pipelined
        for row in rows:
            for dimension, _ in task_class.request:
                left = item(dimension, row)
                if later:
                    left += item(releasing + dimension, row) - item(pipelined + dimension, row)
                if left < 0:
                    return True
        return False

    def _dimensions_of(self, task_class: TaskClass) -> Index:
        """Return the dimensions of a class's request as a column."""
        dimensions = self._dimensions.get(task_class.number)
        if dimensions is None:
            dimensions = np.array([[dimension] for dimension, _ in task_class.request], dtype=np.int64)
            self._dimensions[task_class.number] = dimensions
        return dimensions


def _distinct(rows: Sequence[int]) -> tuple[Index, Index]:
    """Return each row once, with its number of occurrences."""
    times = Counter(rows)
    return np.fromiter(times.keys(), np.int64, len(times)), np.fromiter(times.values(), np.int64, len(times))
