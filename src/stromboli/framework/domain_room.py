"""How many copies of a class every domain can hold at most: from the columns, for all domains at once.

A bound from above, now or once everything that is being released is gone. Rules about other pods are not asked, so a
domain that has the room may still fail; one that lacks it need not be tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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


class DomainRoom:
    def __init__(self, search: NodeSearch, ledger: Ledger) -> None:
        self._search = search
        self._ledger = ledger
        self._rooms: dict[tuple[HyperNodeTree, int], DomainSums] = {}

    def tasks_that_fit(self, tree: HyperNodeTree, tasks: Sequence[Task]) -> Amount:
        """For each domain of a tree how many of the tasks it holds at most, were each class alone."""
        numbers = Counter(task.task_class.number for task in tasks)
        classes = {task.task_class.number: task.task_class for task in tasks}
        total = np.zeros(len(tree.hyper_nodes), dtype=np.int64)
        for number, count in numbers.items():
            total += np.minimum(self._room(tree, classes[number]), count)
        return total

    def _room(self, tree: HyperNodeTree, task_class: TaskClass) -> Amount:
        sums = self._rooms.get((tree, task_class.number))
        if sums is None:
            sums = DomainSums(tree, self._ledger, partial(self._copies, task_class))
            self._rooms[tree, task_class.number] = sums
        return sums.now()

    def _copies(self, task_class: TaskClass, index: Index | None) -> Amount:
        """What nodes hold: none where a rule about the node itself refuses the class."""
        books, layout = self._ledger.books, self._ledger.layout
        where: slice | Index = slice(None) if index is None else index
        copies: Amount | None = None
        for dimension, amount in task_class.request:
            idle = books[dimension][where]
            later = idle + books[layout.releasing + dimension][where] - books[layout.pipelined + dimension][where]
            number = np.maximum(idle, later) // amount
            copies = number if copies is None else np.minimum(copies, number)
        admitted = self._search.view(task_class).static.admitted[where]
        return np.where(admitted, np.maximum(copies, 0), 0) if copies is not None else admitted.astype(np.int64)
