"""Expected completions of running tasks, and what is free by then.

A task without a declared run time never completes here. An overdue task completes soon: the time is unknown, and
waiting for it is better than planning without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.nodes.amounts import Block
from stromboli.core.model.nodes.table import Index, Vector
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

#: An overdue task is expected to complete in this many seconds.
SOON = 60.0

_STANDING = frozenset(status.value for status in ALLOCATED_STATUSES)
_JUST_PLACED = (TaskStatus.ALLOCATED.value, TaskStatus.BINDING.value)


@dataclass(slots=True, eq=False)
class _Order:
    """The tasks that will complete, earliest first."""

    ends: Vector
    rows: Index
    #: Indices of classes and queues in their lists.
    classes: Index
    queues: Index
    #: Amounts of each task, by resource.
    amounts: Vector


class Completions:
    """All tasks of one cycle that will complete, including those that the cycle itself places."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ends: list[float] = []
        self._rows: list[int] = []
        self._classes: list[int] = []
        self._queues: list[int] = []
        self._class_places: dict[TaskClass, int] = {}
        self._queue_places: dict[str, int] = {}
        self._freed: dict[float, Block] = {}
        codes = session.ledger.codes
        for job in session.jobs.values():
            if any(map(job.counts.__getitem__, _STANDING)):
                for task in job.tasks.values():
                    if codes[task.row] in _STANDING and task.run_time < np.inf:
                        self._add(task, job.queue, codes[task.row])
        self._seen = len(session.decisions.binds)

    def _add(self, task: Task, queue: str, status: int) -> None:
        row, now = self._session.ledger.row_of(task), self._session.now
        if row < 0:
            return
        began = now if status in _JUST_PLACED else task.placed_at or task.created or now
        end = began + task.run_time
        self._ends.append(end if end > now else now + SOON)
        self._rows.append(row)
        self._classes.append(self._class_places.setdefault(task.task_class, len(self._class_places)))
        self._queues.append(self._queue_places.setdefault(queue, len(self._queue_places)))

    def update(self) -> bool:
        """Add what was bound since the last call; report whether there was anything."""
        session, binds = self._session, self._session.decisions.binds
        fresh, self._seen = binds[self._seen :], len(binds)
        for statement in fresh:
            job = session.jobs[statement[0].job]
            for task in (job.tasks[placement.uid] for placement in statement):
                if task.run_time < np.inf:
                    self._add(task, job.queue, TaskStatus.BINDING.value)
        if fresh:
            self._freed = {}
            self.__dict__.pop("_order", None)
        return bool(fresh)

    @cached_property
    def _order(self) -> _Order:
        ends = np.array(self._ends)
        order = np.argsort(ends, kind="stable")
        requests = np.zeros((self._session.ledger.layout.resources, max(len(self._class_places), 1)))
        for task_class, place in self._class_places.items():
            for dimension, amount in task_class.request:
                requests[dimension, place] = amount
        rows, classes, queues = (
            np.array(numbers, dtype=np.int64)[order] for numbers in (self._rows, self._classes, self._queues)
        )
        return _Order(ends[order], rows, classes, queues, requests[:, classes])

    def _ended_by(self, moment: float) -> int:
        return int(np.searchsorted(self._order.ends, moment, "right"))

    def moments(self) -> list[float]:
        """Return the times at which tasks complete, in order."""
        moments: list[float] = np.unique(self._order.ends).tolist()
        return moments

    def absent_by(self, moment: float) -> Iterator[tuple[TaskClass, Index]]:
        """Yield how many tasks of each class will be gone from each node."""
        order, number, nodes = self._order, self._ended_by(moment), len(self._session.nodes)
        rows, classes = order.rows[:number], order.classes[:number]
        for task_class, place in self._class_places.items():
            own = rows[classes == place]
            if len(own):
                yield task_class, np.bincount(own, minlength=nodes)

    def released_by(self, moment: float) -> dict[str, list[int]]:
        """Return what the tasks of each queue will have released, by resource."""
        order, number, size = self._order, self._ended_by(moment), len(self._queue_places)
        queues = order.queues[:number]
        sums = [np.bincount(queues, amounts[:number], minlength=size).astype(np.int64) for amounts in order.amounts]
        return {queue: [int(each[place]) for each in sums] for queue, place in self._queue_places.items()}

    def last_before(self, moment: float) -> Vector:
        """Return when the last task of each node completes, up to a time; -inf for nodes where none does."""
        order, number = self._order, self._ended_by(moment)
        last = np.full(len(self._session.nodes), -np.inf)
        last[order.rows[:number]] = order.ends[:number]
        return last

    def freed_by(self, moment: float) -> Block:
        """Return what will be free in addition to now, by resource and node. Read-only."""
        known = self._freed.get(moment)
        if known is None:
            order, number, nodes = self._order, self._ended_by(moment), len(self._session.nodes)
            rows = order.rows[:number]
            freed = [np.bincount(rows, amounts[:number], minlength=nodes) for amounts in order.amounts]
            known = self._freed[moment] = np.array(freed).astype(np.int64)
        return known
