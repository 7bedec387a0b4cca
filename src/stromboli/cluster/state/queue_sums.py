"""Sums of queues and their users, updated job by job: the contribution of each job is stored, and a change costs one
job.
"""

from collections.abc import Mapping

from stromboli.cluster.objects.queues import chains_of
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import ROOT, Queue, QueueUsage
from stromboli.core.model.resources.resources import Amounts, dense, exceeding
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES

#: Allocated, requested, inqueue and elastic amounts.
Share = tuple[Amounts, Amounts, Amounts, Amounts]


class QueueSums:
    """Allocated, request, inqueue and elastic sums of every queue with its descendants; what pods of no queue hold."""

    def __init__(self, queues: Mapping[str, Queue], size: int) -> None:
        self._size = size
        self.usage = {name: QueueUsage.empty(name, size) for name in (*queues, ROOT)}
        #: What pods without a queue hold on nodes, terminating ones excepted.
        self.unqueued: Amounts = [0] * size
        self._chains = chains_of(queues, self.usage)
        self._nothing: Share = ([0] * size, [0] * size, [0] * size, [0] * size)
        self._shares: dict[str, tuple[str, str, Share]] = {}
        #: What users hold, by queue and user, without those who hold nothing. Snapshots share the lists.
        self.held: dict[tuple[str, str], Amounts] = {}

    def update(self, key: str, job: Job | None) -> None:
        """Replace the contribution of a job; None removes it."""
        queue, user, old = self._shares.pop(key, (None, "", self._nothing))
        if queue is not None:
            self._hold(queue, user, old[0], -1)
        if job is not None:
            new = self._share_of(job)
            self._shares[key] = job.queue, job.spec.user, new
            self._hold(job.queue, job.spec.user, new[0], 1)
            if queue == job.queue:
                self._change(queue, old, new)
                return
            self._change(job.queue, self._nothing, new, jobs=1)
        if queue is not None:
            self._change(queue, old, self._nothing, jobs=-1)

    def _share_of(self, job: Job) -> Share:
        """Return the amounts of a job. One that starts nothing more has no claim beyond what it holds."""
        size, inqueue = self._size, self._nothing[2]
        allocated, elastic = self._kept(job.allocated), exceeding(job.allocated, dense(job.min_resources or (), size))
        if job.spec.fault or job.spec.is_being_deleted:
            return allocated, allocated, inqueue, self._kept(elastic)
        if job.phase == "Inqueue" or (job.phase == "Running" and _has_minimum(job)):
            inqueue = dense(job.missing_minimum(), size)
        return allocated, self._kept(job.requested), inqueue, self._kept(elastic)

    def _hold(self, queue: str, user: str, amounts: Amounts, sign: int) -> None:
        """Add what a job of a user holds, or subtract it."""
        if amounts is not self._nothing[0]:
            before = self.held.pop((queue, user), self._nothing[0])
            after = [held + sign * amount for held, amount in zip(before, amounts, strict=True)]
            if any(after):
                self.held[queue, user] = after

    def _kept(self, amounts: Amounts) -> Amounts:
        """Return a copy; all that are zero share one."""
        return amounts[:] if any(amounts) else self._nothing[0]

    def _change(self, queue: str, old: Share, new: Share, *, jobs: int = 0) -> None:
        """Replace one contribution to a queue and its ancestors by another."""
        changes = [
            (kind, dimension, after - before)
            for kind, (one, other) in enumerate(zip(old, new, strict=True))
            if one != other
            for dimension, (before, after) in enumerate(zip(one, other, strict=True))
            if before != after
        ]
        if queue in self.usage:
            self.usage[queue].jobs += jobs
        else:
            for dimension, change in ((dimension, change) for kind, dimension, change in changes if kind == 0):
                self.unqueued[dimension] += change
        for usage in self._chains.get(queue, ()):
            totals = usage.allocated, usage.request, usage.inqueue, usage.elastic
            for kind, dimension, change in changes:
                totals[kind][dimension] += change

    def copies(self) -> dict[str, QueueUsage]:
        """Copies of all sums for one cycle."""
        copies = {name: usage.copy() for name, usage in self.usage.items()}
        for name, chain in self._chains.items():
            copies[name].chain = tuple(copies[usage.name] for usage in chain)
        return copies


def _has_minimum(job: Job) -> bool:
    return sum(job.counts[status] for status in ALLOCATED_STATUSES) >= job.min_available
