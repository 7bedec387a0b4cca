"""Packing tasks into the sub-domains of a large domain, so that as few as possible are used.

The sub-domain is taken that has capacity for all the rest and least beyond it, so that large gaps stay whole; where
none has, the largest is filled. Sub-domains in which other members run come before others. The last sub-domain is
packed recursively. Only idle capacity counts: a task that must wait is pipelined where capacity is released first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.session.session import Session

#: Places tasks inside a domain, as far as there is capacity.
Place = Callable[[Sequence[Task], Mask], object]


class DomainPacker:
    """Packs tasks into one domain of a tree."""

    def __init__(self, session: Session, tree: HyperNodeTree, place: Place) -> None:
        self._session = session
        self._tree = tree
        self._place = place
        self._in_use: set[int] = set()

    def pack(self, domain: int, tasks: Sequence[Task], mates: Iterable[Task]) -> bool:
        """Place the tasks inside the domain. False, without any operation, without a choice or enough capacity."""
        tree, ledger = self._tree, self._session.ledger
        if len(tree.parts(domain)) < 2 or any(task.nominated_node for task in tasks):
            return False
        if ledger.nodes.last is not None:
            return False  # nodes of this shard come before others, in any sub-domain
        runs = [list(run) for _, run in groupby(tasks, key=lambda task: task.task_class.number)]
        if not all(self._capacity(run)[domain] > len(run) for run in runs):
            return False
        rows = {row for task in mates if (row := ledger.row_of(task)) >= 0}
        self._in_use = {place for row in rows for place in tree.around[int(tree.lowest[row])]}
        for run in runs:
            self._fill(domain, run)
        return True

    def _capacity(self, tasks: Sequence[Task]) -> Amount:
        return self._session.domain_capacity.idle(self._tree, tasks[0].task_class)

    def _fill(self, domain: int, tasks: Sequence[Task]) -> None:
        """Place tasks of one class inside a domain; a full domain has full sub-domains."""
        ledger, left = self._session.ledger, list(self._tree.parts(domain))
        if self._capacity(tasks)[domain] <= len(tasks):
            left = []
        while tasks and left:
            capacity = self._capacity(tasks)
            part = self._next(left, capacity, len(tasks))
            if part is None:
                break
            left.remove(part)
            self._in_use.add(part)
            self._fill(part, tasks[: int(capacity[part])])
            tasks = [task for task in tasks if ledger.is_pending(task)]
        if tasks:
            self._place(tasks, self._tree.inside(domain))

    def _next(self, parts: Sequence[int], capacity: Amount, needed: int) -> int | None:
        """The next sub-domain to use, the first by name among equals; None when none has capacity."""
        with_capacity = [part for part in parts if capacity[part]]
        candidates = [part for part in with_capacity if part in self._in_use] or with_capacity
        fitting = [part for part in candidates if capacity[part] >= needed]
        if fitting:
            return min(fitting, key=lambda part: (capacity[part], part))
        return min(candidates, key=lambda part: (-capacity[part], part), default=None)
