"""Upper bounds of how many copies of a class every domain can hold, for all domains at once.

Either now, or now or once all releasing pods are gone. Inter-pod rules are not evaluated, so a domain with enough
capacity may still fail; one without it need not be tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.search.node_search import NodeSearch
from stromboli.core.topology.domain_sums import DomainSums


def numbers_of(tasks: Iterable[Task]) -> Mapping[TaskClass, int]:
    """Count tasks by class."""
    numbers: dict[TaskClass, int] = {}
    for task in tasks:
        numbers[task.task_class] = numbers.get(task.task_class, 0) + 1
    return numbers


class DomainCapacity:
    def __init__(self, search: NodeSearch, ledger: Ledger) -> None:
        self._search = search
        self._ledger = ledger
        self._sums: dict[tuple[HyperNodeTree, int, bool, bool], DomainSums] = {}

    def tasks_that_fit(self, tree: HyperNodeTree, tasks: Sequence[Task]) -> Amount:
        """Return how many of the tasks each domain of a tree can hold at most, each class by itself."""
        return self._fitting(tree, tasks, at_best=True)

    def tasks_that_fit_in_shard(self, tree: HyperNodeTree, tasks: Sequence[Task]) -> Amount:
        """Return how many of the tasks each domain can hold now, on the nodes of this shard only."""
        return self._fitting(tree, tasks, at_best=False, only_ours=True)

    def _fitting(self, tree: HyperNodeTree, tasks: Sequence[Task], *, at_best: bool, only_ours: bool = False) -> Amount:
        total: Amount | None = None
        for task_class, number in numbers_of(tasks).items():
            fitting = np.minimum(self._capacity(tree, task_class, at_best=at_best, only_ours=only_ours), number)
            total = fitting if total is None else total + fitting
        return np.zeros(len(tree.hyper_nodes), dtype=np.int64) if total is None else total

    def idle(self, tree: HyperNodeTree, task_class: TaskClass) -> Amount:
        """Return how many copies each domain of a tree can hold now, beside nominated capacity."""
        return self._capacity(tree, task_class, at_best=False)

    def _capacity(
        self, tree: HyperNodeTree, task_class: TaskClass, *, at_best: bool, only_ours: bool = False
    ) -> Amount:
        key = tree, task_class.number, at_best, only_ours
        sums = self._sums.get(key)
        if sums is None:
            admitted = self._search.view(task_class).static.admitted
            if only_ours and (last := self._ledger.nodes.last) is not None:
                admitted = admitted & ~last
            sums = self._sums[key] = DomainSums(
                tree, self._ledger, _Copies(self._ledger, task_class, admitted, at_best)
            )
        return sums.now()


class _Copies:
    """How many copies of a class nodes can hold: none where a STATIC rule refuses the class."""

    def __init__(self, ledger: Ledger, task_class: TaskClass, admitted: Mask, at_best: bool) -> None:
        """With `at_best`, use the larger of idle and future idle amounts; otherwise the smaller."""
        amounts, layout = ledger.amounts, ledger.layout
        self._admitted = admitted
        self._at_best = at_best
        self._asked = [
            (amount, amounts[d], amounts[layout.releasing + d], amounts[layout.pipelined + d])
            for d, amount in task_class.request
        ]
        #: Fast access to single entries of the same memory.
        self._admits: Any = memoryview(admitted)  # type: ignore[arg-type]
        self._entries: list[tuple[int, Any, Any, Any]] = [
            (amount, memoryview(idle), memoryview(releasing), memoryview(pipelined))
            for amount, idle, releasing, pipelined in self._asked
        ]

    def of_all(self) -> Amount:
        combine = np.maximum if self._at_best else np.minimum
        copies = [
            combine(idle, idle + releasing - pipelined) // amount for amount, idle, releasing, pipelined in self._asked
        ]
        if not copies:
            return self._admitted.astype(np.int64)
        return np.where(self._admitted, np.maximum(np.minimum.reduce(copies), 0), 0)

    def of_rows(self, rows: Sequence[int]) -> list[int]:
        return [self._on(row) if self._admits[row] else 0 for row in rows]

    def _on(self, row: int) -> int:
        fewest, at_best = -1, self._at_best
        for amount, idle, releasing, pipelined in self._entries:
            now, more = idle[row], releasing[row] - pipelined[row]
            copies = (now + more if (more > 0) is at_best else now) // amount
            if copies < fewest or fewest < 0:
                fewest = copies if copies > 0 else 0
        return fewest if self._entries else 1
