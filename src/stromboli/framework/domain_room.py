"""How many copies of a class every domain can hold at most: from the columns, for all domains at once.

Bounds from above: right now, or now or once everything that is being released is gone. Rules about other pods are not
asked, so a domain that has the room may still fail; one that lacks it need not be tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from stromboli.framework.domain_sums import DomainSums
from stromboli.framework.search import NodeSearch
from stromboli.model.books import Amount
from stromboli.model.hypernodes import HyperNodeTree
from stromboli.model.ledger import Ledger
from stromboli.model.nodes import Index
from stromboli.model.task import Task
from stromboli.model.task_class import TaskClass

#: The larger or the smaller of two amounts.
Combine = Callable[[Amount, Amount], Amount]


class DomainRoom:
    def __init__(self, search: NodeSearch, ledger: Ledger) -> None:
        self._search = search
        self._ledger = ledger
        self._rooms: dict[tuple[HyperNodeTree, int, Combine], DomainSums] = {}

    def tasks_that_fit(self, tree: HyperNodeTree, tasks: Sequence[Task]) -> Amount:
        """For each domain of a tree how many of the tasks it holds at most, were each class alone."""
        numbers = Counter(task.task_class.number for task in tasks)
        classes = {task.task_class.number: task.task_class for task in tasks}
        total = np.zeros(len(tree.hyper_nodes), dtype=np.int64)
        for number, count in numbers.items():
            total += np.minimum(self._room(tree, classes[number], np.maximum), count)
        return total

    def idle(self, tree: HyperNodeTree, task_class: TaskClass) -> Amount:
        """For each domain of a tree how many copies it holds right now, beside what is held for others."""
        return self._room(tree, task_class, np.minimum)

    def _room(self, tree: HyperNodeTree, task_class: TaskClass, combine: Combine) -> Amount:
        key = tree, task_class.number, combine
        sums = self._rooms.get(key)
        if sums is None:
            sums = self._rooms[key] = DomainSums(tree, self._ledger, partial(self._copies, task_class, combine))
        return sums.now()

    def _copies(self, task_class: TaskClass, combine: Combine, index: Index | None) -> Amount:
        """What nodes hold, by what is idle and what will be, combined: none where a rule about the node itself refuses
        the class.
        """
        books, layout = self._ledger.books, self._ledger.layout
        where: slice | Index = slice(None) if index is None else index
        copies: Amount | None = None
        for dimension, amount in task_class.request:
            idle = books[dimension][where]
            later = idle + books[layout.releasing + dimension][where] - books[layout.pipelined + dimension][where]
            number = combine(idle, later) // amount
            copies = number if copies is None else np.minimum(copies, number)
        admitted = self._search.view(task_class).static.admitted[where]
        return np.where(admitted, np.maximum(copies, 0), 0) if copies is not None else admitted.astype(np.int64)
