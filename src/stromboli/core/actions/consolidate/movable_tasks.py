"""What may be moved for a job: whose owners, queues and priorities allow it, and that nobody guards."""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.config.plugin import EvictionContext
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.preemption.candidates import Pool
from stromboli.core.preemption.rules import Terms
from stromboli.core.preemption.thrash_guard import ThrashGuard, ThrashGuardArguments
from stromboli.core.session.session import Session

_STANDING = (TaskStatus.BOUND, TaskStatus.RUNNING)


class MovablePool(Pool):
    """The tasks of some jobs, whichever queue they are in."""

    def queues_for(self, preemptor: Job) -> list[str]:
        return list(self._by_queue)


def terms_for(session: Session, action: str) -> Terms:
    def allowed(preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        return session.unguarded(EvictionContext(action, session.jobs[preemptor.job]), candidates)

    return Terms(
        action=action,
        question="evictable",
        own_queue=True,
        statuses=_STANDING,
        allowed=allowed,
        reaches=lambda preemptor, victim: preemptor.key != victim.key,
        thrash_guard=ThrashGuard(session, ThrashGuardArguments().thrashing_window),
        may_preempt=lambda _: None,
    )


def jobs_to_move(session: Session, preemptor: Job) -> list[Job]:
    """Jobs that are not more important than the claimant, of its own queue or of others that give something away, and
    whose members need not be near each other: those would have to find such a place again.
    """
    return [job for job in session.jobs.values() if _may_be_moved(session, job, preemptor)]


def _may_be_moved(session: Session, job: Job, preemptor: Job) -> bool:
    queue = session.queues.get(job.queue)
    if queue is None or job.key == preemptor.key or job.priority > preemptor.priority:
        return False
    if job.spec.topology or any(policy.topology for policy in job.spec.policies):
        return False
    return queue.reclaimable or job.queue == preemptor.queue
