"""When the tasks that stand on nodes will have ended, and what is free by then.

A task that does not say how long it runs never ends here. One that should have ended already ends soon: nobody knows
when, and waiting for it is better than planning without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from stromboli.model.books import Block
from stromboli.model.ledger import Absent
from stromboli.model.nodes import Index, Vector
from stromboli.model.task import ALLOCATED_STATUSES, Task, TaskStatus
from stromboli.model.task_class import TaskClass

if TYPE_CHECKING:
    from stromboli.framework.session import Session

#: In so many seconds a task is expected to end that runs longer than it said.
SOON = 60.0

_STANDING = frozenset(status.value for status in ALLOCATED_STATUSES)
_JUST_PLACED = (TaskStatus.ALLOCATED.value, TaskStatus.BINDING.value)


class _Line:
    """The tasks of one class and queue that will end: when, and on which nodes. In order once somebody asks."""

    __slots__ = ("_is_sorted", "ends", "queue", "rows", "task_class")

    def __init__(self, task_class: TaskClass, queue: str) -> None:
        self.task_class = task_class
        self.queue = queue
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
        self._lines: dict[tuple[int, str], _Line] = {}
        self._seen = 0
        self._freed: dict[float, Block] = {}
        self._moments: list[float] | None = None
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
        key = task.task_class.number, queue
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _Line(task.task_class, queue)
        line.add(end if end > now else now + SOON, row)

    def take_note(self) -> bool:
        """Enter what was bound since the last time; whether there was anything."""
        binds = self._session.decisions.binds
        fresh, self._seen = binds[self._seen :], len(binds)
        for statement in fresh:
            for bind in statement:
                if bind.task.run_time < np.inf:
                    self._add(bind.task, self._session.jobs[bind.task.job].queue, TaskStatus.BINDING.value)
        if fresh:
            self._freed, self._moments = {}, None
        return bool(fresh)

    def moments(self) -> list[float]:
        """The times at which something ends, in order."""
        if self._moments is None:
            self._moments = sorted({end for line in self._lines.values() for end in line.ends})
        return self._moments

    def absent_by(self, moment: float) -> Iterator[Absent]:
        """Who will be gone."""
        nodes = len(self._session.nodes)
        for line in self._lines.values():
            rows = line.ended_by(moment)
            if len(rows):
                yield Absent(line.task_class, line.queue, np.bincount(rows, minlength=nodes))

    def freed_by(self, moment: float) -> Block:
        """What will be free in addition to what is free now, by resource and node. Not to be written to."""
        known = self._freed.get(moment)
        if known is None:
            ledger = self._session.ledger
            known = np.zeros((ledger.layout.resources, len(ledger.nodes)), dtype=np.int64)
            for absent in self.absent_by(moment):
                for dimension, amount in absent.task_class.request:
                    known[dimension] += amount * absent.counts
            self._freed[moment] = known
        return known
