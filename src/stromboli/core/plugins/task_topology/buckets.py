"""Buckets: the tasks of a job that should run on one node.

Placed tasks are in the bucket of their node. The others join, one after the other, the bucket with the strongest
affinity, or begin a new one where anti-affinity outweighs it everywhere.
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

#: By status, whether a task has a node that it keeps.
PLACED = np.isin(np.arange(len(TaskStatus)), (*ALLOCATED_STATUSES, TaskStatus.PIPELINED, TaskStatus.UNKNOWN))
_MEBIBYTE = 1 << 20

Bucket = list[Task]


def buckets_of(job: Job, rules: Rules, ledger: Ledger) -> list[Bucket]:
    """Return all tasks of the job that rules apply to and that have or need a node; each bucket in serving order."""
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
    """Buckets under construction, with the affinity of each role to each of them."""

    def __init__(self, rules: Rules, tasks: Sequence[Task]) -> None:
        roles = sorted({task.role for task in tasks})
        self.buckets: list[Bucket] = []
        self._places = {role: place for place, role in enumerate(roles)}
        self._attraction = np.array(
            [[rules.attraction(one, other) for other in roles] for one in roles], dtype=np.int64
        )
        #: For every role and bucket, the members with affinity less those with anti-affinity.
        self._pull = np.zeros((len(roles), len(tasks)), dtype=np.int64)
        self._sizes = np.zeros(len(tasks))

    def best_for(self, role: str) -> int | None:
        """Return the bucket that a task of the role joins: the smallest of those with the strongest affinity; None for
        a new one.
        """
        pull = self._pull[self._places[role], : len(self.buckets)]
        most = pull.max(initial=-1)
        if most < 0:
            return None
        liked = np.flatnonzero(pull == most)
        return int(liked[self._sizes[liked].argmin()])

    def add(self, task: Task, number: int | None) -> int:
        """Put a task into a bucket, or into a new one; return the number of the bucket."""
        if number is None:
            number = len(self.buckets)
            self.buckets.append([])
        self.buckets[number].append(task)
        self._pull[:, number] += self._attraction[:, self._places[task.role]]
        self._sizes[number] += size_of(task.task_class)
        return number


def size_of(task_class: TaskClass) -> float:
    """Return the request of a task as one number: milli-cpu, mebibytes, and all others as they are counted."""
    return sum(
        amount / _MEBIBYTE if dimension == MEMORY else amount
        for dimension, amount in task_class.request
        if dimension != PODS
    )
