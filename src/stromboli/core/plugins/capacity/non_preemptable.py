"""Non-preemptable jobs: never evicted for others, and therefore never above what their queue deserves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stromboli.core.config.plugin import Allowance
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.resources import PODS, Amounts, Request, add_amounts, add_request
from stromboli.core.model.tasks.task import Task
from stromboli.core.plugins.capacity.queue_share import QueueShare
from stromboli.core.plugins.capacity.quota_units import QuotaUnits
from stromboli.core.session.session import Session


def is_non_preemptable(job: Job, from_priority: int) -> bool:
    """Report whether the job may not be evicted: by its mark, by a priority from `from_priority` on (0 for none), or by
    the mark of one of its pods.
    """
    if job.spec.preemptable is not None:
        return not job.spec.preemptable
    if from_priority and job.priority >= from_priority:
        return True
    return any(not task.preemptable for task in job.tasks.values())


class NonPreemptableJobs:
    """The non-preemptable jobs of a cycle, and what they hold of each queue and its ancestors."""

    def __init__(self, session: Session, queue_shares: Mapping[str, QueueShare], from_priority: int) -> None:
        self._session = session
        self._queue_shares = queue_shares
        self.keys = {job.key for job in session.jobs.values() if is_non_preemptable(job, from_priority)}
        self._units = QuotaUnits(session.axis)
        self._held: dict[str, Amounts] = {name: [0] * session.snapshot.size for name in queue_shares}
        for key in self.keys:
            job = session.jobs[key]
            for share in self._chain(job):
                add_amounts(self._held[share.name], self._units.amounts(job.allocated))

    def _chain(self, job: Job) -> Sequence[QueueShare]:
        share = self._queue_shares.get(job.queue)
        return () if share is None else share.chain

    def count(self, tasks: Sequence[Task], sign: int) -> None:
        """Count placed or removed tasks of one job and class."""
        if tasks[0].job in self.keys:
            request = self._units.request(tasks[0].task_class.request)
            for share in self._chain(self._session.jobs[tasks[0].job]):
                add_request(self._held[share.name], request, sign * len(tasks))

    def beyond_deserved(self, job: Job | None, share: QueueShare, request: Request, wanted: int) -> Allowance | None:
        """Return how many of these tasks of the job stay within what the queue and its ancestors deserve, and why
        no more do; None if all do.
        """
        if job is None or job.key not in self.keys:
            return None
        number, tightest = wanted, None
        for dimension, amount, holder in _limits(share, self._units.request(request)):
            free = holder.deserved[dimension] - self._held[holder.name][dimension]
            if free < number * amount:
                number, tightest = max(free // amount, 0), (dimension, holder)
        return None if tightest is None else Allowance(number, Reason(Code.QUEUE_SHARE, self._message(*tightest)))

    def _message(self, dimension: int, holder: QueueShare) -> str:
        axis = self._session.axis
        name, held = axis.names[dimension], axis.format(dimension, self._held[holder.name][dimension])
        deserved = axis.format(dimension, holder.deserved[dimension])
        return (
            f"non-preemptable jobs stay within what their queue deserves: {holder.title} deserves {name} {deserved}, "
            f"and they have {held} of it"
        )


def _limits(share: QueueShare, request: Request) -> Iterator[tuple[int, int, QueueShare]]:
    """The resources of which a queue and its ancestors name a deserved amount; a leaf that names none deserves none."""
    for holder in share.chain:
        named = {dimension for dimension, _ in holder.queue.deserved}
        for dimension, amount in request:
            if dimension != PODS and (dimension in named or (holder is share and not named)):
                yield dimension, amount, holder
