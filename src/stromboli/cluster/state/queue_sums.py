"""Sums of queues, updated job by job: the contribution of each job is stored, so that a change costs one job."""

from collections.abc import Mapping

from stromboli.cluster.objects.queues import chains_of
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import ROOT, Queue, QueueUsage
from stromboli.core.model.resources.resources import Amounts, add_amounts, dense, exceeding, subtract_amounts
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES

Share = tuple[Amounts, Amounts, Amounts, Amounts]


class QueueSums:
    """Allocated, request, inqueue and elastic sums of every queue with its descendants; what pods of no queue hold."""

    def __init__(self, queues: Mapping[str, Queue], size: int) -> None:
        self._size = size
        self.usage = {name: QueueUsage.empty(name, size) for name in (*queues, ROOT)}
        #: What pods without a queue hold on nodes, terminating ones excepted.
        self.unqueued: Amounts = [0] * size
        self._chains = chains_of(queues, self.usage)
        self._shares: dict[str, tuple[str, Share]] = {}

    def update(self, key: str, job: Job | None) -> None:
        """Replace the contribution of a job; None removes it."""
        old = self._shares.pop(key, None)
        if old is not None:
            self._apply(*old, sign=-1)
        if job is not None:
            share = self._share_of(job)
            self._shares[key] = (job.queue, share)
            self._apply(job.queue, share, sign=1)

    def _share_of(self, job: Job) -> Share:
        size = self._size
        minimum = dense(job.min_resources or (), size)
        allocated = sum(job.counts[status] for status in ALLOCATED_STATUSES)
        is_admitted = job.phase == "Inqueue" or (job.phase == "Running" and allocated >= job.min_available)
        inqueue = dense(job.missing_minimum() if is_admitted else (), size)
        return job.allocated[:], job.requested[:], inqueue, exceeding(job.allocated, minimum)

    def _apply(self, queue: str, share: Share, *, sign: int) -> None:
        change = add_amounts if sign > 0 else subtract_amounts
        if queue in self.usage:
            self.usage[queue].jobs += sign
        else:
            change(self.unqueued, share[0])
        for usage in self._chains.get(queue, ()):
            for total, part in zip((usage.allocated, usage.request, usage.inqueue, usage.elastic), share, strict=True):
                change(total, part)

    def copies(self) -> dict[str, QueueUsage]:
        """Copies of all sums for one cycle."""
        copies = {name: usage.copy() for name, usage in self.usage.items()}
        for name, chain in self._chains.items():
            copies[name].chain = tuple(copies[usage.name] for usage in chain)
        return copies
