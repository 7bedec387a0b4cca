"""What may be moved for a job: whose owners, queues and priorities allow it, and that nobody guards."""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.config.plugin import EvictionContext
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.preemption.candidates import Pool
from stromboli.core.preemption.rules import Terms
from stromboli.core.preemption.thrash_guard import THRASHING_WINDOW, Truce
from stromboli.core.session.session import Session

_STANDING = (TaskStatus.BOUND, TaskStatus.RUNNING)


class MovablePool(Pool):
    """The tasks of some jobs, whichever queue they are in."""

    def queues_for(self, claimant: Job) -> list[str]:
        return list(self._by_queue)


def terms_for(session: Session, action: str) -> Terms:
    def lawful(claimant: Task, candidates: Sequence[Task]) -> list[Task]:
        return session.unguarded(EvictionContext(action, session.jobs[claimant.job]), candidates)

    return Terms(
        action=action,
        question="evictable",
        own_queue=True,
        statuses=_STANDING,
        lawful=lawful,
        reaches=lambda claimant, victim: claimant.key != victim.key,
        truce=Truce(session, THRASHING_WINDOW.default),
        may_claim=lambda _: None,
    )


def jobs_to_move(session: Session, claimant: Job) -> list[Job]:
    """Jobs that are not more important than the claimant, of its own queue or of others that give something away, and
    whose members need not be near each other: those would have to find such a place again.
    """
    return [job for job in session.jobs.values() if _may_be_moved(session, job, claimant)]


def _may_be_moved(session: Session, job: Job, claimant: Job) -> bool:
    queue = session.queues.get(job.queue)
    if queue is None or job.key == claimant.key or job.priority > claimant.priority:
        return False
    if job.spec.topology or any(policy.topology for policy in job.spec.policies):
        return False
    return queue.reclaimable or job.queue == claimant.queue
