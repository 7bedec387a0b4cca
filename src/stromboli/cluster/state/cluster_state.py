"""The state calculated from the objects of a cluster: node table, accounting matrix, jobs, queue sums.

It is built for one layout (nodes, resources, terms, ports, queues) and then updated pod by pod and group by group. Jobs
that a snapshot may still be using are copied before they change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stromboli.cluster.objects.pod_groups.pod_groups import missing_group, sub_job_of
from stromboli.cluster.objects.pods.pods import Counted
from stromboli.cluster.state.queue_sums import QueueSums
from stromboli.core.model.jobs.job import PENDING_BEST_EFFORT, Counts, Job, JobSpec, SubJob, empty_counts
from stromboli.core.model.nodes.amounts import AmountLayout, Effect
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


#: Initial number of rows of the task columns.
_FIRST_ROWS = 1024


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
        self._effects: dict[tuple[int, TaskStatus], tuple[TaskClass, Effect]] = {}
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
        if counted.row >= 0 and counted.status in OCCUPYING_STATUSES:
            self._occupy(counted, 1)
        job = counted.task.job
        return self._join(self._writable(job), counted, labels) if job else counted

    def remove(self, counted: Counted) -> None:
        task = counted.task
        if counted.row >= 0 and counted.status in OCCUPYING_STATUSES:
            self._occupy(counted, -1)
        if task.job in self.jobs:
            job = self._writable(task.job)
            self._count(job, counted, -1)
            job.tasks.pop(task.uid, None)
            if task.sub_job:
                _leave_sub_job(job, task)
        self.columns.release(task.row)

    def _occupy(self, counted: Counted, sign: int) -> None:
        task_class = counted.task.task_class
        self.amounts[: self.layout.changing, counted.row] += sign * self._effect(task_class, counted.status)
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

    def _effect(self, task_class: TaskClass, status: TaskStatus) -> Effect:
        """Return what a pod of the class adds to the column of its node: calculated once per class and status."""
        kept, known = self._effects.get((task_class.number, status), (None, None))
        if kept is not task_class or known is None:
            known = self.layout.effect(task_class, status)
            self._effects[task_class.number, status] = task_class, known
        return known

    def _writable_tally(self, number: int) -> NDArray[np.int32]:
        column = self.tallies.get(number)
        if column is None:
            column = self.tallies[number] = np.zeros(len(self.table), dtype=np.int32)
        elif number in self._shared_tallies:
            column = self.tallies[number] = column.copy()
            self._shared_tallies.discard(number)
        return column

    # -- jobs ---------------------------------------------------------------------------------------------------

    def _writable(self, key: str) -> Job:
        """The job, safe to modify: it is copied if a snapshot shares it."""
        job = self.jobs.get(key)
        if job is None:
            job = Job(missing_group(key), self.layout.resources)
        elif self._copied_at.get(key) != self.generation:
            job = job.copy()
            job.tasks, job.requested = dict(job.tasks), job.requested[:]
            for sub_job in job.sub_jobs.values():
                sub_job.tasks = list(sub_job.tasks)
        self._copied_at[key] = self.generation
        self.jobs[key] = job
        return job

    def _count(self, job: Job, counted: Counted, sign: int) -> None:
        task, status = counted.task, counted.status
        for counts in self._counters(job, task):
            counts[status] += sign
            if status is TaskStatus.PENDING and task.task_class.best_effort:
                counts[PENDING_BEST_EFFORT] += sign
        request = task.task_class.request
        if status in ALLOCATED_STATUSES:
            add_request(job.allocated, request, sign)
        if status in ALLOCATED_STATUSES or status is TaskStatus.PENDING:
            add_request(job.requested, request, sign)

    def _counters(self, job: Job, task: Task) -> list[Counts]:
        counters = [job.counts]
        if job.spec.min_task_member:
            counters.append(job.role_counts.setdefault(task.role, empty_counts()))
        if task.sub_job:
            counters.append(job.sub_jobs[task.sub_job].counts)
        return counters

    def _join(self, job: Job, counted: Counted, labels: Mapping[str, str]) -> Counted:
        """Count a pod as a member of a job. A snapshot may share its task, so a changed task is replaced."""
        key, policy, index = sub_job_of(job.spec, labels) if job.spec.policies else ("", None, 0)
        if counted.task.sub_job != key:
            counted = replace(counted, task=replace(counted.task, sub_job=key))
        job.tasks[counted.task.uid] = counted.task
        if key:
            sub_job, task = job.sub_jobs.setdefault(key, SubJob(key, job.key, policy, index)), counted.task
            sub_job.priority = max(sub_job.priority, task.priority) if sub_job.tasks else task.priority
            sub_job.tasks.append(task)
        self._count(job, counted, 1)
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
        else:
            self.waiting.discard(key)


def _leave_sub_job(job: Job, task: Task) -> None:
    """Remove a task from its sub-job, which has the highest priority of its tasks and is dropped without tasks."""
    sub_job = job.sub_jobs[task.sub_job]
    sub_job.tasks.remove(task)
    if not sub_job.tasks:
        del job.sub_jobs[task.sub_job]
    elif task.priority == sub_job.priority:
        sub_job.priority = max(other.priority for other in sub_job.tasks)


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
        self.status[row], self.node_of[row] = status.value, node
        return row

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
