"""Which tasks may be moved for a job: by their owners, queues and priorities, and without protection by a plugin."""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.config.plugin import EvictionContext
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.preemption.candidates import CandidatePool
from stromboli.core.preemption.rules import PreemptionRules
from stromboli.core.preemption.thrash_guard import ThrashGuard, ThrashGuardArguments
from stromboli.core.session.session import Session

_STANDING = (TaskStatus.BOUND, TaskStatus.RUNNING)


class MovablePool(CandidatePool):
    """The tasks of some jobs, in whichever queue."""

    def queues_for(self, preemptor: Job) -> list[str]:
        return list(self._by_queue)


def rules_for(session: Session, action: str) -> PreemptionRules:
    def allowed(preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        return session.unguarded(EvictionContext(action, session.jobs[preemptor.job]), candidates)

    return PreemptionRules(
        action=action,
        question="evictable",
        own_queue=True,
        statuses=_STANDING,
        allowed=allowed,
        may_target=lambda preemptor, victim: preemptor.key != victim.key,
        thrash_guard=ThrashGuard(session, ThrashGuardArguments().thrashing_window),
        may_preempt=lambda _: None,
    )


def jobs_to_move(session: Session, preemptor: Job) -> list[Job]:
    """Jobs that are not more important than the preemptor, of its own queue or of a reclaimable one, and without a
    topology: a job with a topology would have to find a domain again.
    """
    return [job for job in session.jobs.values() if _may_be_moved(session, job, preemptor)]


def _may_be_moved(session: Session, job: Job, preemptor: Job) -> bool:
    queue = session.queues.get(job.queue)
    if queue is None or job.key == preemptor.key or job.priority > preemptor.priority:
        return False
    if job.spec.topology or any(policy.topology for policy in job.spec.policies):
        return False
    return queue.reclaimable or job.queue == preemptor.queue
