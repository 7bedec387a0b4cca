"""The tasks of one job by bucket: their order, and the score of each node for one of them.

Changing values are read from the ledger's columns on demand, so no undo is needed.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Vector
from stromboli.core.model.tasks.task import Task
from stromboli.core.plugins.task_topology.buckets import PLACED, Bucket, buckets_of
from stromboli.core.plugins.task_topology.rules import Rules

#: 0 in a bucket or 1 without, minus the number of waiting tasks of the bucket, its number, and the rank of the role.
OrderKey = tuple[int, int, int, tuple[int, int]]
NO_BUCKET: OrderKey = (1, 0, 0, (0, 0))


class _Load:
    """The requests of the tasks of a bucket: a row per dimension, a column per task."""

    __slots__ = ("amounts", "dimensions", "rows")

    def __init__(self, bucket: Bucket) -> None:
        self.rows: Index = np.array([task.row for task in bucket], dtype=np.int64)
        self.dimensions = sorted({dimension for task in bucket for dimension, _ in task.task_class.request})
        self.amounts: NDArray[np.int64] = np.array(
            [[dict(task.task_class.request).get(d, 0) for task in bucket] for d in self.dimensions], dtype=np.int64
        )


class TaskBuckets:
    """The buckets of one job in one cycle."""

    def __init__(self, job: Job, rules: Rules, ledger: Ledger) -> None:
        self._rules = rules
        self._ledger = ledger
        self._buckets = buckets_of(job, rules, ledger)
        self._bucket_of = {task.uid: number for number, bucket in enumerate(self._buckets) for task in bucket}
        self._largest = max((len(bucket) for bucket in self._buckets), default=1)
        self._members = [task for bucket in self._buckets for task in bucket]
        self._loads: dict[int, _Load] = {}
        self._waiting: list[int] = []
        self._counted_at = -1

    # -- order --------------------------------------------------------------------------------------------------

    def key(self, task: Task) -> OrderKey:
        """Tasks in buckets come first, bucket by bucket, the one with most waiting tasks first."""
        number = self._bucket_of.get(task.uid)
        rank = self._rules.rank(task.role)
        return (1, 0, 0, rank) if number is None else (0, -self._waiting_in(number), number, rank)

    def _waiting_in(self, number: int) -> int:
        """Return how many tasks of a bucket have no place yet."""
        position = self._ledger.log.position
        if position != self._counted_at:
            waits = self._ledger.status[self._rows] == 0
            self._waiting = np.bincount(self._numbers[waits], minlength=len(self._buckets)).tolist()
            self._counted_at = position
        return self._waiting[number]

    @cached_property
    def _rows(self) -> Index:
        """The rows of all members in the columns of the ledger."""
        return np.array([task.row for task in self._members], dtype=np.int64)

    @cached_property
    def _numbers(self) -> Index:
        return np.array([self._bucket_of[task.uid] for task in self._members], dtype=np.int64)

    # -- nodes --------------------------------------------------------------------------------------------------

    def scores(self, task: Task, rows: Rows) -> Vector | None:
        """Return for each node: members of the bucket there, less job members with anti-affinity, plus the members that
        fit there together with the task; 100 for the whole of the largest bucket. A node without capacity for the task
        gets 0. None for a task without rules.
        """
        number = self._bucket_of.get(task.uid)
        if number is None:
            return None
        load = self._load(number)
        fitting = self._fitting(load, task, rows)
        points = self._members_on_nodes(load.rows) - self._members_on_nodes(self._repelling(task.role)) + fitting
        return np.where(fitting > 0, points, 0) * (100.0 / self._largest)

    def _load(self, number: int) -> _Load:
        if number not in self._loads:
            self._loads[number] = _Load(self._buckets[number])
        return self._loads[number]

    def _repelling(self, role: str) -> Index:
        """The members to which a role has anti-affinity."""
        apart = self._rules.apart.get(role, ())
        return self._rows[[task.role in apart for task in self._members]] if apart else self._rows[:0]

    def _members_on_nodes(self, task_rows: Index) -> Index:
        """Return how many of these tasks are or will be on each node."""
        ledger = self._ledger
        nodes = ledger.node_of[task_rows[PLACED[ledger.status[task_rows]]]]
        return np.bincount(nodes[nodes >= 0], minlength=len(ledger.nodes))

    def _fitting(self, load: _Load, task: Task, rows: Rows) -> Index:
        """Count the waiting tasks of the bucket that fit on each node, this one first and the others in order."""
        is_own = load.rows == task.row
        others = (self._ledger.status[load.rows] == 0) & ~is_own
        needed = np.concatenate((load.amounts[:, is_own], load.amounts[:, others]), axis=1).cumsum(axis=1)
        fitting = np.full(len(rows), needed.shape[1], dtype=np.int64)
        for place, dimension in enumerate(load.dimensions):
            number = np.searchsorted(needed[place], rows.future_idle(dimension), side="right")
            np.minimum(fitting, number, out=fitting)
        return fitting
