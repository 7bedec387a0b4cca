"""Expected completions of running tasks, and what is free by then.

A task without a declared run time never completes here. An overdue task completes soon: the time is unknown, and
waiting for it is better than planning without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.nodes.amounts import Block
from stromboli.core.model.nodes.table import Index, Vector
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass

if TYPE_CHECKING:
    from stromboli.core.model.jobs.job import Job
    from stromboli.core.session.session import Session

#: An overdue task is expected to complete in this many seconds.
SOON = 60.0

_STANDING = tuple(status.value for status in ALLOCATED_STATUSES)
_NO_ENDS, _NO_ROWS = np.zeros(0), np.zeros(0, dtype=np.int64)
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


@dataclass(frozen=True, slots=True)
class JobCompletions:
    """Tasks of one job and class that will complete, and their nodes."""

    task_class: TaskClass
    ends: Vector
    rows: Index


class Completions:
    """All tasks of one cycle that will complete, including those that the cycle itself places."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ends: list[Vector] = []
        self._rows: list[Index] = []
        #: Places of class and queue, and the number of tasks, of each entry of the lists above.
        self._classes: list[int] = []
        self._queues: list[int] = []
        self._numbers: list[int] = []
        self._class_places: dict[TaskClass, int] = {}
        self._queue_places: dict[str, int] = {}
        self._freed: dict[float, Block] = {}
        allocated, binding, bound, running = _STANDING
        for job in session.jobs.values():
            counts = job.counts
            if counts[running] or counts[bound] or counts[binding] or counts[allocated]:
                for tasks in self._running(job):
                    self._add(tasks, job.spec.queue)
        self._seen = len(session.decisions.binds)

    def _running(self, job: Job) -> Sequence[JobCompletions]:
        """Return the tasks of a job that will complete. The job keeps them until it changes, because jobs that are not
        touched are the same in all cycles.
        """
        if job.completions is not None:
            return job.completions
        codes, counts = self._session.ledger.codes, job.counts
        tasks = [task for task in job.tasks.values() if codes[task.row] in _STANDING]
        found = self._by_class(tasks)
        if not (counts[TaskStatus.ALLOCATED] or counts[TaskStatus.BINDING]):
            job.completions = found
        return found

    def _by_class(self, tasks: Iterable[Task]) -> Sequence[JobCompletions]:
        ledger, now = self._session.ledger, self._session.now
        codes, node_rows = ledger.codes, ledger.node_rows
        by_class: dict[TaskClass, tuple[list[float], list[int]]] = {}
        for task in tasks:
            row = node_rows[task.row]
            if row >= 0 and task.run_time < np.inf:
                began = now if codes[task.row] in _JUST_PLACED else task.placed_at or task.created or now
                ends, rows = by_class.setdefault(task.task_class, ([], []))
                ends.append(began + task.run_time)
                rows.append(row)
        return [JobCompletions(each, np.array(ends), np.array(rows)) for each, (ends, rows) in by_class.items()]

    def _add(self, tasks: JobCompletions, queue: str) -> None:
        self._ends.append(tasks.ends)
        self._rows.append(tasks.rows)
        self._numbers.append(len(tasks.rows))
        self._classes.append(self._class_places.setdefault(tasks.task_class, len(self._class_places)))
        self._queues.append(self._queue_places.setdefault(queue, len(self._queue_places)))

    def update(self) -> bool:
        """Add what was bound since the last call; report whether there was anything."""
        session, binds = self._session, self._session.decisions.binds
        fresh, self._seen = binds[self._seen :], len(binds)
        for statement in fresh:
            job = session.jobs[statement[0].job]
            for tasks in self._by_class(job.tasks[placement.uid] for placement in statement):
                self._add(tasks, job.spec.queue)
        if fresh:
            self._freed = {}
            self.__dict__.pop("_order", None)
            self.__dict__.pop("_moments", None)
        return bool(fresh)

    @cached_property
    def _order(self) -> _Order:
        now, numbers = self._session.now, self._numbers
        ends = np.concatenate([_NO_ENDS, *self._ends])
        ends[ends <= now] = now + SOON
        order = np.argsort(ends, kind="stable")
        requests = np.zeros((self._session.ledger.layout.resources, max(len(self._class_places), 1)))
        for task_class, place in self._class_places.items():
            for dimension, amount in task_class.request:
                requests[dimension, place] = amount
        rows = np.concatenate([_NO_ROWS, *self._rows])[order]
        classes, queues = (np.repeat(_index(places), numbers)[order] for places in (self._classes, self._queues))
        return _Order(ends[order], rows, classes, queues, requests[:, classes])

    def _ended_by(self, moment: float) -> int:
        return int(np.searchsorted(self._order.ends, moment, "right"))

    def moments(self) -> list[float]:
        """Return the times at which tasks complete, in order."""
        return self._moments

    @cached_property
    def _moments(self) -> list[float]:
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


def _index(numbers: Sequence[int]) -> Index:
    return np.array(numbers, dtype=np.int64)
