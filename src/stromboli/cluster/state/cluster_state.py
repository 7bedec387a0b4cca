"""The state calculated from the objects of a cluster: node table, accounting matrix, jobs, queue sums.

It is built for one layout (nodes, resources, queues) and then updated pod by pod and group by group. Jobs
that a snapshot may still be using are copied before they change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stromboli.cluster.objects.pod_groups.pod_groups import missing_group, sub_job_of
from stromboli.cluster.objects.pods.pods import Counted
from stromboli.cluster.state.queue_sums import QueueSums
from stromboli.core.model.jobs.job import PENDING_BEST_EFFORT, Counts, Job, JobSpec, SubJob, empty_counts
from stromboli.core.model.nodes.amounts import AmountLayout, Block, Effect
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.resources.resources import add_request
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, OCCUPYING_STATUSES, Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.volumes.volume_usage import VolumeUse

#: A counted pod, and its labels.
Member = tuple[Counted, Mapping[str, str]]

#: Jobs in these phases are part of every cycle, with or without pods.
_UNSETTLED = ("Pending", "Inqueue")


#: By status, whether a pod counts in the allocated and in the requested resources of its job.
_SUMS = [(status in ALLOCATED_STATUSES, status in (*ALLOCATED_STATUSES, TaskStatus.PENDING)) for status in TaskStatus]

#: Up to this many nodes are written one by one.
_FEW = 8
#: Initial number of rows of the task columns.
_FIRST_ROWS = 1024


class NodeEffect:
    """What a pod of a class adds to its node, and the nodes to which it has not been added yet, one entry per pod."""

    __slots__ = ("_amounts", "_rows", "nodes", "task_class")

    def __init__(self, task_class: TaskClass, effect: Effect) -> None:
        self.task_class = task_class
        self._rows = [int(row) for row in effect.nonzero()[0]]
        self._amounts = [int(effect[row]) for row in self._rows]
        self.nodes: list[int] = []

    def add_to(self, block: Block) -> None:
        if len(self.nodes) <= _FEW:
            for node in self.nodes:
                for row, amount in zip(self._rows, self._amounts, strict=True):
                    block[row, node] += amount
        else:
            for row, amount in zip(self._rows, self._amounts, strict=True):
                np.add.at(block[row], self.nodes, amount)
        self.nodes = []


class ClusterState:
    def __init__(
        self,
        table: NodeTable,
        allocatable: Mapping[str, Mapping[int, int]],
        layout: AmountLayout,
        queues: Mapping[str, Queue],
    ) -> None:
        self.table = table
        self.layout = layout
        self.queues = queues
        self.amounts = layout.empty(len(table))
        for name, amounts in allocatable.items():
            for dimension, amount in amounts.items():
                self.amounts[layout.allocatable + dimension, table.index[name]] = amount
        self.amounts[: layout.resources] = self.amounts[layout.allocatable :]
        self.tallies: dict[int, NDArray[np.int32]] = {}
        #: Now, and after all releasing pods are gone.
        self.volume_use, self.later_volume_use = VolumeUse(len(table)), VolumeUse(len(table))
        self.columns = TaskColumns()
        #: By node row, the uids of the pods that occupy it.
        self.pods_on_node: dict[int, set[str]] = {}
        self.jobs: dict[str, Job] = {}
        self.sums = QueueSums(queues, layout.resources)
        self.waiting: set[str] = set()
        self.generation = 0
        self._copied_at: dict[str, int] = {}
        self._effects: dict[tuple[int, bool, int], NodeEffect] = {}
        #: The effects that have not been added to their nodes yet.
        self._outstanding: list[NodeEffect] = []
        self._shared_tallies: set[int] = set()

    def revise(
        self, table: NodeTable, allocatable: Mapping[str, Mapping[int, int]], queues: Mapping[str, Queue]
    ) -> None:
        """Replace the facts of the same nodes and queues; positions and pods stay."""
        self.table, self.queues = table, queues
        fresh = np.zeros((self.layout.resources, len(table)), dtype=np.int64)
        for name, amounts in allocatable.items():
            for dimension, amount in amounts.items():
                fresh[dimension, table.index[name]] = amount
        self.amounts[: self.layout.resources] += fresh - self.amounts[self.layout.allocatable :]
        self.amounts[self.layout.allocatable :] = fresh

    def shared(self) -> None:
        """Note that a snapshot shares the current jobs and tallies, so that they are copied before they change."""
        self.generation += 1
        self._shared_tallies = set(self.tallies)

    # -- pods ---------------------------------------------------------------------------------------------------

    def add(self, counted: Counted, labels: Mapping[str, str]) -> Counted:
        """Add a pod to its node and its job; returns how it was added."""
        if _occupies(counted):
            self._occupy(counted, 1)
        job = counted.task.job
        return self._join(self._writable(job), counted, labels) if job else counted

    def remove(self, counted: Counted) -> None:
        task = counted.task
        if _occupies(counted):
            self._occupy(counted, -1)
        if task.job in self.jobs:
            job = self._writable(task.job)
            self._enter(job, counted, -1)
            job.discard(task.uid)
            if task.sub_job:
                _leave_sub_job(job, task)
        self.columns.release(task.row)

    def move(self, old: Counted, new: Counted) -> None:
        """Change the status and the node of a pod. Its task, which a snapshot may share, stays."""
        before, after = _occupies(old), _occupies(new)
        if old.row != new.row or before != after or TaskStatus.RELEASING in (old.status, new.status):
            if before:
                self._occupy(old, -1)
            if after:
                self._occupy(new, 1)
        task = new.task
        self.columns.set(task.row, new.status, new.row)
        if task.job and old.status is not new.status:
            job = self._writable(task.job)
            self._count(job, task, old.status, -1)
            self._count(job, task, new.status, 1)
            (allocated, requested), (was_allocated, was_requested) = _SUMS[new.status], _SUMS[old.status]
            _add_sums(job, task.task_class, allocated - was_allocated, requested - was_requested)

    def flush(self) -> None:
        """Add to the nodes what pods occupy since the last call: once per class, not per pod."""
        for effect in self._outstanding:
            effect.add_to(self.amounts)
        self._outstanding.clear()

    def _occupy(self, counted: Counted, sign: int) -> None:
        task_class = counted.task.task_class
        effect = self._effect(task_class, counted.status, sign)
        if not effect.nodes:
            self._outstanding.append(effect)
        effect.nodes.append(counted.row)
        for number in task_class.feeds:
            self._writable_tally(number)[counted.row] += sign
        if task_class.volumes is not None:
            self.volume_use.add(task_class.volumes, counted.row, sign)
            if counted.status is not TaskStatus.RELEASING:
                self.later_volume_use.add(task_class.volumes, counted.row, sign)
        if not counted.task.job and counted.status is not TaskStatus.RELEASING:
            add_request(self.sums.unqueued, task_class.request, sign)
        pods_on_node = self.pods_on_node.setdefault(counted.row, set())
        (pods_on_node.add if sign > 0 else pods_on_node.discard)(counted.task.uid)

    def _effect(self, task_class: TaskClass, status: TaskStatus, sign: int) -> NodeEffect:
        """Return what a pod of the class adds to the column of its node, or subtracts: calculated once."""
        key = task_class.number, status is TaskStatus.RELEASING, sign
        known = self._effects.get(key)
        if known is None or known.task_class is not task_class:
            known = self._effects[key] = NodeEffect(task_class, sign * self.layout.effect(task_class, status))
        return known

    def _writable_tally(self, number: int) -> NDArray[np.int32]:
        column = self.tallies.get(number)
        if column is None:
            column = self.tallies[number] = np.zeros(len(self.table), dtype=np.int32)
        elif number in self._shared_tallies:
            column = self.tallies[number] = column.copy()
            self._shared_tallies.discard(number)
        return column

    # -- whole jobs -----------------------------------------------------------------------------------------------
    # Of one class, without sub-jobs and roles: simulations enter, place and drop such jobs in one step.

    def add_waiting(self, spec: JobSpec, phase: str, tasks: Sequence[Task]) -> None:
        """Add a job all of whose pods wait."""
        job, number, task_class = Job(spec, self.layout.resources), len(tasks), tasks[0].task_class
        job.phase = phase
        job.tasks = {task.uid: task for task in tasks}
        _add_count(job.counts, TaskStatus.PENDING, number, task_class.best_effort)
        add_request(job.requested, task_class.request, number)
        self._copied_at[spec.key] = self.generation
        self.jobs[spec.key] = job
        self.settle_job(spec.key)

    def place_waiting(self, key: str, tasks: Sequence[Task], nodes: Sequence[int]) -> None:
        """Count waiting pods of a job as running on nodes. The caller settles the job."""
        job, number, task_class = self._writable(key), len(tasks), tasks[0].task_class
        for task, node in zip(tasks, nodes, strict=True):
            self.columns.set(task.row, TaskStatus.RUNNING, node)
            self.pods_on_node.setdefault(node, set()).add(task.uid)
        _add_count(job.counts, TaskStatus.PENDING, -number, task_class.best_effort)
        _add_count(job.counts, TaskStatus.RUNNING, number, waits=False)
        add_request(job.allocated, task_class.request, number)
        self._occupy_nodes(task_class, nodes, 1)

    def drop_whole(self, key: str, placed: Mapping[str, int]) -> None:
        """Remove a job with all its pods, of which some run on nodes."""
        tasks = self.jobs[key].tasks
        for uid, node in placed.items():
            self.pods_on_node[node].discard(uid)
        for task in tasks.values():
            self.columns.release(task.row)
        if placed:
            self._occupy_nodes(next(iter(tasks.values())).task_class, list(placed.values()), -1)
        self.drop_job(key)

    def _occupy_nodes(self, task_class: TaskClass, nodes: Sequence[int], sign: int) -> None:
        effect = self._effect(task_class, TaskStatus.RUNNING, sign)
        if not effect.nodes:
            self._outstanding.append(effect)
        effect.nodes.extend(nodes)
        for number in task_class.feeds:
            np.add.at(self._writable_tally(number), nodes, sign)

    # -- jobs ---------------------------------------------------------------------------------------------------

    def _writable(self, key: str) -> Job:
        """The job, safe to modify: it is copied if a snapshot shares it."""
        job = self.jobs.get(key)
        if job is None:
            job = Job(missing_group(key), self.layout.resources)
        elif self._copied_at.get(key) == self.generation:
            job.completions = None
            return job
        else:
            job = job.copy()
            job.tasks, job.requested = dict(job.tasks), job.requested[:]
            for sub_job in job.sub_jobs.values():
                sub_job.tasks = list(sub_job.tasks)
        self._copied_at[key] = self.generation
        self.jobs[key] = job
        return job

    def _enter(self, job: Job, counted: Counted, sign: int) -> None:
        """Add a pod to the counters and sums of a job, or subtract it."""
        task, status = counted.task, counted.status
        self._count(job, task, status, sign)
        allocated, requested = _SUMS[status]
        _add_sums(job, task.task_class, sign * allocated, sign * requested)

    @staticmethod
    def _count(job: Job, task: Task, status: TaskStatus, sign: int) -> None:
        waits = status is TaskStatus.PENDING and task.task_class.best_effort
        _add_count(job.counts, status, sign, waits)
        if job.spec.min_task_member:
            _add_count(job.role_counts.setdefault(task.role, empty_counts()), status, sign, waits)
        if task.sub_job:
            _add_count(job.sub_jobs[task.sub_job].counts, status, sign, waits)

    def _join(self, job: Job, counted: Counted, labels: Mapping[str, str]) -> Counted:
        """Count a pod as a member of a job. A snapshot may share its task, so a changed task is replaced."""
        key, policy, index = sub_job_of(job.spec, labels) if job.spec.policies else ("", None, 0)
        if counted.task.sub_job != key:
            counted = counted._replace(task=replace(counted.task, sub_job=key))
        job.put(counted.task)
        if key:
            sub_job, task = job.sub_jobs.setdefault(key, SubJob(key, job.key, policy, index)), counted.task
            priority = task.priority_in_job
            sub_job.priority = max(sub_job.priority, priority) if sub_job.tasks else priority
            sub_job.tasks.append(task)
        self._enter(job, counted, 1)
        return counted

    def set_spec(self, spec: JobSpec, phase: str, members: Mapping[str, Member]) -> dict[str, Counted]:
        """Rebuild the job of a PodGroup that was added, changed or removed, and count its members again, because roles
        and sub-jobs may differ. Returns how they were added.
        """
        job = Job(spec, self.layout.resources)
        job.phase = phase or "Pending"
        self._copied_at[spec.key] = self.generation
        self.jobs[spec.key] = job
        return {uid: self._join(job, counted, labels) for uid, (counted, labels) in members.items()}

    def set_phase(self, key: str, phase: str) -> None:
        self._writable(key).phase = phase or "Pending"

    def set_fault(self, key: str, fault: str) -> None:
        """Set what is wrong with the job's objects; empty for nothing."""
        if key not in self.jobs or self.jobs[key].spec.fault != fault:
            job = self._writable(key)
            job.spec = replace(job.spec, fault=fault)

    def drop_job(self, key: str) -> None:
        self.jobs.pop(key, None)
        self._copied_at.pop(key, None)
        self.waiting.discard(key)
        self.sums.update(key, None)

    def settle_job(self, key: str) -> None:
        """Update the queue sums and the set of waiting jobs for a changed job."""
        job = self.jobs[key]
        self.sums.update(key, job)
        if job.pending_count or job.phase in _UNSETTLED:
            self.waiting.add(key)
            _ = job.classes  # for the copies of all cycles in which it waits
        else:
            self.waiting.discard(key)


def _occupies(counted: Counted) -> bool:
    return counted.row >= 0 and counted.status in OCCUPYING_STATUSES


def _add_count(counts: Counts, status: TaskStatus, sign: int, waits: bool) -> None:
    counts[status] += sign
    if waits:
        counts[PENDING_BEST_EFFORT] += sign


def _add_sums(job: Job, task_class: TaskClass, allocated: int, requested: int) -> None:
    if allocated:
        add_request(job.allocated, task_class.request, allocated)
    if requested:
        add_request(job.requested, task_class.request, requested)


def _leave_sub_job(job: Job, task: Task) -> None:
    """Remove a task from its sub-job, which has the highest priority of its tasks and is dropped without tasks."""
    sub_job = job.sub_jobs[task.sub_job]
    sub_job.tasks.remove(task)
    if not sub_job.tasks:
        del job.sub_jobs[task.sub_job]
    elif task.priority_in_job == sub_job.priority:
        sub_job.priority = max(other.priority_in_job for other in sub_job.tasks)


class TaskColumns:
    """Status and node row of every task: one row per pod, reused when the pod is removed."""

    def __init__(self) -> None:
        self.status: NDArray[np.int8] = np.zeros(_FIRST_ROWS, dtype=np.int8)
        self.node_of: NDArray[np.int32] = np.full(_FIRST_ROWS, -1, dtype=np.int32)
        self._used = 0
        self._free: list[int] = []

    def allocate(self, status: TaskStatus, node: int) -> int:
        """Allocate a row for a new task."""
        row = self._free.pop() if self._free else self._next()
        self.set(row, status, node)
        return row

    def set(self, row: int, status: TaskStatus, node: int) -> None:
        self.status[row], self.node_of[row] = status, node

    def release(self, row: int) -> None:
        self.status[row], self.node_of[row] = 0, -1
        self._free.append(row)

    def _next(self) -> int:
        if self._used == len(self.status):
            self.status = np.concatenate((self.status, np.zeros_like(self.status)))
            self.node_of = np.concatenate((self.node_of, np.full_like(self.node_of, -1)))
        self._used += 1
        return self._used - 1

    def copies(self) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        return self.status[: self._used].copy(), self.node_of[: self._used].copy()
