"""Counters of jobs, sub-jobs and roles, and sums of queues with their ancestors, as a cycle changes them."""

from collections.abc import Iterable, Sequence

from stromboli.core.model.jobs.job import PENDING_BEST_EFFORT, Counts, Job
from stromboli.core.model.queues.queue import QueueUsage
from stromboli.core.model.resources.resources import Amounts, Request, add_request
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass

_ALLOCATED, _BINDING = TaskStatus.ALLOCATED.value, TaskStatus.BINDING.value
_RELEASING = TaskStatus.RELEASING.value


class JobLedger:
    """Copies the counters of a job when the cycle first changes them; waiting jobs are copied by the snapshot."""

    def __init__(self, jobs: dict[str, Job], queues: dict[str, QueueUsage], waiting: Iterable[str]) -> None:
        self.jobs = jobs
        self.queues = queues
        #: The jobs whose counters the cycle owns.
        self.changed = set(waiting)

    def own(self, key: str) -> Job:
        """Return the job with counters owned by this cycle."""
        jobs = self.jobs
        if key in self.changed:
            return jobs[key]
        self.changed.add(key)
        job = jobs[key] = jobs[key].copy()
        return job

    def move(
        self, job: Job, tasks: Sequence[Task], before: TaskStatus, after: TaskStatus
    ) -> list[tuple[Counts, Counts]]:
        """Move tasks of one class between statuses in every counter; return the counters with their previous values."""
        number, first = len(tasks), tasks[0]
        saved = []
        best_effort = first.task_class.best_effort
        for counts in _counts_of(job, first):
            saved.append((counts, counts[:]))
            counts[before] -= number
            counts[after] += number
            if best_effort:
                counts[PENDING_BEST_EFFORT] += number * ((after == 0) - (before == 0))
        return saved

    def release(
        self, tasks: Sequence[Task], before: TaskStatus
    ) -> tuple[list[tuple[Counts, Counts]], list[tuple[Amounts, Amounts]]]:
        """Count placed tasks of one class as releasing, and subtract their requests from their jobs and queues; return
        the counters and the sums with their previous values, to be restored in reverse.
        """
        counters, sums = list[tuple[Counts, Counts]](), list[tuple[Amounts, Amounts]]()
        request, queues, own, code = tasks[0].task_class.request, list[str](), self.own, int(before)
        for task in tasks:
            job = own(task.job)
            for counts in _counts_of(job, task) if job.role_counts or task.sub_job else (job.counts,):
                counters.append((counts, counts[:]))
                counts[code] -= 1
                counts[_RELEASING] += 1
            allocated = job.allocated
            sums.append((allocated, allocated[:]))
            for dimension, amount in request:
                allocated[dimension] -= amount
            queues.append(job.spec.queue)
        for name in dict.fromkeys(queues):
            for queue in self.queues[name].chain if name in self.queues else ():
                _subtract(queue.allocated, request, queues.count(name), sums)
        return counters, sums

    def bind(self, tasks: Sequence[Task]) -> None:
        """Count allocated tasks of one job and class as binding."""
        for counts in _counts_of(self.own(tasks[0].job), tasks[0]):
            counts[_ALLOCATED] -= len(tasks)
            counts[_BINDING] += len(tasks)

    def add(self, job: Job, task_class: TaskClass, copies: int) -> list[tuple[Amounts, Amounts]]:
        """Add the requests of tasks to their job and to their queue with its ancestors; return the previous sums.

        Pipelined tasks count as allocated.
        """
        usage = self.queues.get(job.spec.queue)
        saved, request = [(job.allocated, job.allocated[:])], task_class.request
        if usage is not None:
            saved += [(queue.allocated, queue.allocated[:]) for queue in usage.chain]
        for amounts, _ in saved:
            for dimension, amount in request:
                amounts[dimension] += amount * copies
        return saved

    def enqueue(self, job: Job, minimum: Request) -> None:
        """Admit a job: add its minimum to the inqueue amounts of its queue and every ancestor."""
        job.phase = "Inqueue"
        usage = self.queues.get(job.queue)
        for queue in usage.chain if usage else ():
            add_request(queue.inqueue, minimum)

    def fingerprint(self) -> list[bytes]:
        """Return all counters and sums, to prove that an undo restored them."""
        parts = []
        for key in sorted(self.jobs):
            job = self.jobs[key]
            sub_jobs = {name: sub_job.counts for name, sub_job in sorted(job.sub_jobs.items())}
            parts.append(repr((key, job.phase, job.counts, job.role_counts, job.allocated, sub_jobs)).encode())
        for name in sorted(self.queues):
            usage = self.queues[name]
            parts.append(repr((name, usage.allocated, usage.request, usage.inqueue, usage.elastic)).encode())
        return parts


def _subtract(amounts: Amounts, request: Request, copies: int, saved: list[tuple[Amounts, Amounts]]) -> None:
    """Subtract requests, and keep the previous amounts."""
    saved.append((amounts, amounts[:]))
    for dimension, amount in request:
        amounts[dimension] -= amount * copies


def _counts_of(job: Job, task: Task) -> list[Counts]:
    every = [job.counts]
    if not job.role_counts and not task.sub_job:
        return every
    if job.role_counts:
        every.append(job.role_counts[task.role])
    if task.sub_job:
        every.append(job.sub_jobs[task.sub_job].counts)
    return every
