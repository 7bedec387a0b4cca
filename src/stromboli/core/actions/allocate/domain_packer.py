"""Dealing tasks to the parts of a large domain, so that as few parts as possible are used.

The part is taken that has room for all the rest and least beyond it, so that large holes stay whole; where none has,
the largest is filled. Parts in which mates stand already come before others. The last part is dealt to its own parts in
turn. Only what is idle counts: whoever must wait for room waits where it comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.session.session import Session

#: Places tasks inside a domain, as far as there is room.
Place = Callable[[Sequence[Task], Mask], object]


class DomainPacker:
    """One deal inside one domain of a tree."""

    def __init__(self, session: Session, tree: HyperNodeTree, place: Place) -> None:
        self._session = session
        self._tree = tree
        self._place = place
        self._in_use: set[int] = set()

    def pack(self, domain: int, tasks: Sequence[Task], mates: Iterable[Task]) -> bool:
        """Place the tasks inside the domain. False, and nothing done, where there is nothing to choose or too little
        room.
        """
        tree, ledger = self._tree, self._session.ledger
        if len(tree.parts(domain)) < 2 or any(task.nominated_node for task in tasks):
            return False
        if ledger.nodes.last is not None:
            return False  # nodes of our shard come before others, whichever part they are in
        runs = [list(run) for _, run in groupby(tasks, key=lambda task: task.task_class.number)]
        if not all(self._room(run)[domain] > len(run) for run in runs):
            return False
        rows = {row for task in mates if (row := ledger.row_of(task)) >= 0}
        self._in_use = {place for row in rows for place in tree.around[int(tree.lowest[row])]}
        for run in runs:
            self._fill(domain, run)
        return True

    def _room(self, tasks: Sequence[Task]) -> Amount:
        return self._session.domain_capacity.idle(self._tree, tasks[0].task_class)

    def _fill(self, domain: int, tasks: Sequence[Task]) -> None:
        """Place tasks of one class inside a domain; where it is filled up, all its parts are."""
        ledger, left = self._session.ledger, list(self._tree.parts(domain))
        if self._room(tasks)[domain] <= len(tasks):
            left = []
        while tasks and left:
            room = self._room(tasks)
            part = self._next(left, room, len(tasks))
            if part is None:
                break
            left.remove(part)
            self._in_use.add(part)
            self._fill(part, tasks[: int(room[part])])
            tasks = [task for task in tasks if ledger.is_pending(task)]
        if tasks:
            self._place(tasks, self._tree.inside(domain))

    def _next(self, parts: Sequence[int], room: Amount, needed: int) -> int | None:
        """The part to be used next, the first by name among equals; None when nothing has room."""
        roomy = [part for part in parts if room[part]]
        candidates = [part for part in roomy if part in self._in_use] or roomy
        fitting = [part for part in candidates if room[part] >= needed]
        if fitting:
            return min(fitting, key=lambda part: (room[part], part))
        return min(candidates, key=lambda part: (-room[part], part), default=None)
