"""reclaim: queues get back what they deserve, at the cost of queues that have more than that."""

from __future__ import annotations

from stromboli.core.config.action import Action
from stromboli.core.config.arguments import PredicateCacheArguments
from stromboli.core.model.reasons import Reason
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.preemption import Claims, Terms, ThrashGuard, ThrashGuardArguments
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.session import Session


class ReclaimArguments(PredicateCacheArguments, ThrashGuardArguments):
    """The arguments of reclaim."""


class Reclaim(Action):
    name = "reclaim"
    arguments = ReclaimArguments()

    def execute(self, session: Session) -> None:
        starving = session.starving()
        if not starving:
            return
        claims = Claims(session, _terms(session, ThrashGuard(session, self.arguments.thrashing_window)))
        for job in JobOrder(session, starving).jobs_in_turn():
            with session.isolate_errors(job):
                if session.job_starving(job):
                    claims.claim(job, session.pending(job))


def _terms(session: Session, thrash_guard: ThrashGuard) -> Terms:
    def may_preempt(task: Task) -> Reason | None:
        return session.preemptive(session.queue_of(session.jobs[task.job]), [task])

    return Terms(
        action=Reclaim.name,
        question="reclaimable",
        own_queue=False,
        statuses=(TaskStatus.RUNNING,),
        allowed=session.reclaimable,
        reaches=lambda preemptor, victim: victim.queue != preemptor.queue,
        thrash_guard=thrash_guard,
        may_preempt=may_preempt,
    )
