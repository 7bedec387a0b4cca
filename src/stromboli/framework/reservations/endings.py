"""When the tasks that stand on nodes will have ended, and what is free by then.

A task that does not say how long it runs never ends here. One that should have ended already ends soon: nobody knows
when, and waiting for it is better than planning without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from stromboli.model.books import Block
from stromboli.model.nodes import Index, Vector
from stromboli.model.task import ALLOCATED_STATUSES, Task, TaskStatus
from stromboli.model.task_class import TaskClass

if TYPE_CHECKING:
    from stromboli.framework.session import Session

#: In so many seconds a task is expected to end that runs longer than it said.
SOON = 60.0

_JUST_PLACED = (TaskStatus.ALLOCATED, TaskStatus.BINDING)


class _Line:
    """The tasks of one class that will end: when, and on which nodes. In order once somebody asks."""

    __slots__ = ("_is_sorted", "ends", "rows", "task_class")

    def __init__(self, task_class: TaskClass) -> None:
        self.task_class = task_class
        self.ends: list[float] = []
        self.rows: list[int] = []
        self._is_sorted: tuple[Vector, Index] | None = None

    def add(self, end: float, row: int) -> None:
        self.ends.append(end)
        self.rows.append(row)
        self._is_sorted = None

    def ended_by(self, moment: float) -> Index:
        """The nodes of the tasks that have ended by then."""
        if self._is_sorted is None:
            ends, rows = np.array(self.ends), np.array(self.rows, dtype=np.int64)
            order = np.argsort(ends, kind="stable")
            self._is_sorted = ends[order], rows[order]
        ends, rows = self._is_sorted
        return rows[: int(np.searchsorted(ends, moment, "right"))]


class Endings:
    """All tasks of one cycle that will end, those included that the cycle itself places."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lines: dict[int, _Line] = {}
        self._seen = 0
        self._freed: dict[float, Block] = {}
        self._moments: list[float] | None = None
        codes, statuses = session.ledger.codes, frozenset(status.value for status in ALLOCATED_STATUSES)
        for job in session.jobs.values():
            if any(job.counts[status] for status in ALLOCATED_STATUSES):
                for task in job.tasks.values():
                    if codes[task.row] in statuses:
                        self._add(task)
        self._seen = len(session.decisions.binds)

    def _add(self, task: Task) -> None:
        row, end = self._session.ledger.row_of(task), self._end_of(task)
        if row < 0 or end == np.inf:
            return
        line = self._lines.get(task.task_class.number)
        if line is None:
            line = self._lines[task.task_class.number] = _Line(task.task_class)
        line.add(end, row)

    def _end_of(self, task: Task) -> float:
        now = self._session.now
        if self._session.ledger.status_of(task) in _JUST_PLACED:
            return now + task.run_time
        end = (task.placed_at or task.created or now) + task.run_time
        return end if end > now else now + SOON

    def take_note(self) -> bool:
        """Enter what was bound since the last time; whether there was anything."""
        binds = self._session.decisions.binds
        fresh, self._seen = binds[self._seen :], len(binds)
        for statement in fresh:
            for bind in statement:
                self._add(bind.task)
        if fresh:
            self._freed, self._moments = {}, None
        return bool(fresh)

    def moments(self) -> list[float]:
        """The times at which something ends, in order."""
        if self._moments is None:
            self._moments = sorted({end for line in self._lines.values() for end in line.ends})
        return self._moments

    def absent_by(self, moment: float) -> Iterator[tuple[TaskClass, Index]]:
        """By class, how many tasks will be gone from each node."""
        nodes = len(self._session.nodes)
        for line in self._lines.values():
            rows = line.ended_by(moment)
            if len(rows):
                yield line.task_class, np.bincount(rows, minlength=nodes)

    def freed_by(self, moment: float) -> Block:
        """What will be free in addition to what is free now, by resource and node. Not to be written to."""
        known = self._freed.get(moment)
        if known is None:
            ledger = self._session.ledger
            known = np.zeros((ledger.layout.resources, len(ledger.nodes)), dtype=np.int64)
            for task_class, counts in self.absent_by(moment):
                for dimension, amount in task_class.request:
                    known[dimension] += amount * counts
            self._freed[moment] = known
        return known
