"""How many copies of a class every domain can hold at most: from the columns, for all domains at once.

A bound from above, now or once everything that is being released is gone. Rules about other pods are not asked, so a
domain that has the room may still fail; one that lacks it need not be tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stromboli.framework.search import NodeSearch
from stromboli.model.books import Amount
from stromboli.model.hypernodes import HyperNodeTree
from stromboli.model.ledger import Ledger
from stromboli.model.nodes import Index
from stromboli.model.task import Task
from stromboli.model.task_class import TaskClass


class _Room:
    """The copies of one class that each node holds, and each domain."""

    __slots__ = ("copies", "fresh", "sums")

    def __init__(self, copies: Amount, sums: Amount, fresh: int) -> None:
        self.copies = copies
        self.sums = sums
        self.fresh = fresh


class DomainRoom:
    """Kept fresh by the log of the ledger: only nodes that have changed are looked at again."""

    def __init__(self, search: NodeSearch, ledger: Ledger, tree: HyperNodeTree) -> None:
        self._search = search
        self._ledger = ledger
        self._tree = tree
        self._rooms: dict[int, _Room] = {}

    def tasks_that_fit(self, tasks: Sequence[Task]) -> Amount:
        """For each domain how many of the tasks it holds at most, were each class alone."""
        numbers: dict[TaskClass, int] = {}
        for task in tasks:
            numbers[task.task_class] = numbers.get(task.task_class, 0) + 1
        total = np.zeros(len(self._tree.hyper_nodes), dtype=np.int64)
        for task_class, number in numbers.items():
            total += np.minimum(self._sums(task_class), number)
        return total

    def places(self) -> Mapping[str, int]:
        return self._tree.index

    def _sums(self, task_class: TaskClass) -> Amount:
        log, room = self._ledger.log, self._rooms.get(task_class.number)
        if room is None:
            copies = self._copies(task_class, None)
            room = _Room(copies, self._tree.sums(copies), log.position)
            self._rooms[task_class.number] = room
        elif room.fresh != log.position:
            index = np.unique(log.since(room.fresh))
            room.copies[index] = self._copies(task_class, index)
            room.sums, room.fresh = self._tree.sums(room.copies), log.position
        return room.sums

    def _copies(self, task_class: TaskClass, index: Index | None) -> Amount:
        """What the nodes hold: none where a rule about the node itself refuses the class."""
        books, layout = self._ledger.books, self._ledger.layout
        where: slice | Index = slice(None) if index is None else index
        copies: Amount | None = None
        for dimension, amount in task_class.request:
            idle = books[dimension][where]
            later = idle + books[layout.releasing + dimension][where] - books[layout.pipelined + dimension][where]
            number = np.maximum(idle, later) // amount if amount else None
            if number is not None:
                copies = number if copies is None else np.minimum(copies, number)
        admitted = self._search.view(task_class).static.admitted[where]
        if copies is None:
            return np.where(admitted, np.iinfo(np.int32).max, 0).astype(np.int64)
        return np.where(admitted, np.maximum(copies, 0), 0)
