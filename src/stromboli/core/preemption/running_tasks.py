"""The running tasks of one queue in columns, in the order of their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.jobs.job import Job, ready_in
from stromboli.core.model.nodes.table import Index, Vector
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.preemption.cost import VictimOrder
from stromboli.core.session.session import Session

#: The priorities of job and task, whether it is no spare member, and the position in the order of victims.
Worth = tuple[int, int, bool, Any]


_row_of = attrgetter("row")
_created_of = attrgetter("created")
_class_of = attrgetter("task_class.number")


def has_spare_members(job: Job) -> bool:
    """Report whether the job has more tasks than it needs, so that some may be evicted."""
    return job.spare_count > 0


def worth_of(job: Job, task: Task, order: VictimOrder | None) -> Worth:
    spec = job.spec
    is_needed = spec.evicted_whole or ready_in(job.counts) <= spec.min_available
    position = 0.0 if order is None else order(job, task, is_needed)
    return spec.priority, task.priority, is_needed, position


class RunningTasks:
    """Entry i of every column belongs to task i."""

    def __init__(
        self,
        session: Session,
        statuses: Sequence[TaskStatus],
        jobs: Sequence[Job],
        *,
        order: VictimOrder | None = None,
    ) -> None:
        tasks = [task for job in jobs for task in job.tasks.values() if task.preemptable]
        ledger, places = session.ledger, np.fromiter(map(_row_of, tasks), np.int64, len(tasks))
        rows, codes = ledger.node_of[places].astype(np.int64), ledger.status[places]
        within_reach = (rows >= 0) & np.isin(codes, [status.value for status in statuses])
        if session.nodes.excluded_nodes is not None:
            within_reach &= ~session.nodes.excluded_nodes[rows]
        selected = np.flatnonzero(within_reach)
        selected = selected[rows[selected].argsort(kind="stable")]
        self.tasks = [tasks[place] for place in selected.tolist()]
        self.rows: Index = rows[selected]
        self._jobs = session.jobs
        self._changed_jobs = ledger.changed_jobs
        self._order = order
        self._nodes = len(session.nodes)
        self._ends: list[int] = self.rows.searchsorted(np.arange(self._nodes + 1)).tolist()
        self._worths: tuple[list[Worth], Index] | None = None

    def on(self, row: int) -> list[tuple[Task, Worth]]:
        """The tasks of a node with their worths now. Those of a job without changes are as they were before."""
        first, end = self._ends[row], self._ends[row + 1]
        tasks = self.tasks[first:end]
        if self._worths is None:
            return [(task, self._worth(task)) for task in tasks]
        ordered, which = self._worths
        changed = self._changed_jobs
        return [
            (task, self._worth(task) if task.job in changed else ordered[place])
            for task, place in zip(tasks, which[first:end].tolist(), strict=True)
        ]

    def _worth(self, task: Task) -> Worth:
        job = self._jobs[task.job]
        return worth_of(job, task, self._order)

    @cached_property
    def classes(self) -> tuple[list[TaskClass], Index]:
        """The classes of the tasks, and the index of each task's class among them."""
        numbers = np.fromiter(map(_class_of, self.tasks), np.int64, len(self.tasks))
        _, firsts, which = np.unique(numbers, return_index=True, return_inverse=True)
        return [self.tasks[first].task_class for first in firsts.tolist()], which

    def worths(self) -> tuple[list[Worth], Index]:
        """The worths of the tasks when this was first called, smallest first, and the index of each task's worth."""
        if self._worths is None:
            self._worths = self._find_worths()
        return self._worths

    def _find_worths(self) -> tuple[list[Worth], Index]:
        places, jobs, order, found = dict[Worth, int](), self._jobs, self._order, list[int]()
        for task in self.tasks:
            found.append(places.setdefault(worth_of(jobs[task.job], task, order), len(places)))
        ordered = sorted(places)
        ranks = np.zeros(len(places), dtype=np.int64)
        for rank, worth in enumerate(ordered):
            ranks[places[worth]] = rank
        return ordered, ranks[found] if found else np.zeros(0, dtype=np.int64)

    @cached_property
    def created(self) -> Vector:
        return np.fromiter(map(_created_of, self.tasks), np.float64, len(self.tasks))

    @cached_property
    def numbers(self) -> Index:
        """The ordinals of members of numbered sets."""
        return np.fromiter((task.order[1] for task in self.tasks), np.int64, len(self.tasks))

    def amounts(self, dimension: int) -> NDArray[np.int64]:
        """Return the amount of a resource that each task holds."""
        classes, which = self.classes
        amounts = [dict(task_class.request).get(dimension, 0) for task_class in classes]
        return np.array(amounts, dtype=np.int64)[which] if classes else np.zeros(0, dtype=np.int64)

    def held(self, dimension: int) -> NDArray[np.int64]:
        """Return the amount of a resource that the tasks of each node hold."""
        total = np.zeros(self._nodes, dtype=np.int64)
        np.add.at(total, self.rows, self.amounts(dimension))
        return total
