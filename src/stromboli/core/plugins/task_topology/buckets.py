"""Buckets: the tasks of a job that should stand on one node.

Tasks that have a place are in the bucket of their node. The others join, one after the other, the bucket that they
like best, or begin a new one where they would be in somebody's way everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.resources.resources import MEMORY, PODS
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.task_topology.rules import Rules

#: By status, whether a task has a place that it will keep.
PLACED = np.isin(np.arange(len(TaskStatus)), (*ALLOCATED_STATUSES, TaskStatus.PIPELINED, TaskStatus.UNKNOWN))
_MEBIBYTE = 1 << 20

Bucket = list[Task]


def buckets_of(job: Job, rules: Rules, ledger: Ledger) -> list[Bucket]:
    """All tasks of the job that rules are about and that have a place or want one; each bucket in the order in which
    its tasks are served.
    """
    placed: list[Task] = []
    waiting: list[Task] = []
    for task in job.tasks.values():
        if rules.are_about(task.role):
            if ledger.is_pending(task):
                waiting.append(task)
            elif PLACED[ledger.codes[task.row]] and ledger.row_of(task) >= 0:
                placed.append(task)
    filling = _BucketBuilder(rules, [*placed, *waiting])
    by_node: dict[str, int] = {}
    for task in sorted(placed, key=lambda task: (ledger.node_name(task), task.order)):
        node = ledger.node_name(task)
        by_node[node] = filling.add(task, by_node.get(node))
    for task in sorted(waiting, key=lambda task: (rules.rank(task.role), task.order)):
        filling.add(task, filling.best_for(task.role))
    return filling.buckets


class _BucketBuilder:
    """Buckets while they are being filled, with what each of them means to each role."""

    def __init__(self, rules: Rules, tasks: Sequence[Task]) -> None:
        roles = sorted({task.role for task in tasks})
        self.buckets: list[Bucket] = []
        self._places = {role: place for place, role in enumerate(roles)}
        self._attraction = np.array(
            [[rules.attraction(one, other) for other in roles] for one in roles], dtype=np.int64
        )
        #: For every role and bucket, how many it would like to join there less those it would not.
        self._pull = np.zeros((len(roles), len(tasks)), dtype=np.int64)
        self._sizes = np.zeros(len(tasks))

    def best_for(self, role: str) -> int | None:
        """The bucket that a task of the role joins: the smallest of those that it likes best; None for a new one."""
        pull = self._pull[self._places[role], : len(self.buckets)]
        most = pull.max(initial=-1)
        if most < 0:
            return None
        liked = np.flatnonzero(pull == most)
        return int(liked[self._sizes[liked].argmin()])

    def add(self, task: Task, number: int | None) -> int:
        """Put a task into a bucket, or into a new one; the answer is which one."""
        if number is None:
            number = len(self.buckets)
            self.buckets.append([])
        self.buckets[number].append(task)
        self._pull[:, number] += self._attraction[:, self._places[task.role]]
        self._sizes[number] += size_of(task.task_class)
        return number


def size_of(task_class: TaskClass) -> float:
    """How much a task asks for, as one number: milli-cpu, mebibytes, and all others as they are counted."""
    return sum(
        amount / _MEBIBYTE if dimension == MEMORY else amount
        for dimension, amount in task_class.request
        if dimension != PODS
    )
