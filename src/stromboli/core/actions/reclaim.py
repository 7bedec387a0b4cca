"""reclaim: queues get back what they deserve, at the cost of queues that have more than that."""

from __future__ import annotations

from stromboli.core.config.action import Action
from stromboli.core.config.arguments import PREDICATE_ERROR_CACHE
from stromboli.core.model.reasons import Reason
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.preemption import THRASHING_WINDOW, Claims, Terms, Truce
from stromboli.core.session.job_order import Turns
from stromboli.core.session.session import Session


class Reclaim(Action):
    name = "reclaim"
    arguments = (PREDICATE_ERROR_CACHE, THRASHING_WINDOW)

    def execute(self, session: Session) -> None:
        starving = session.starving()
        if not starving:
            return
        claims = Claims(session, _terms(session, Truce(session, self.given[THRASHING_WINDOW.key])))
        for job in Turns(session, starving).one_by_one():
            with session.blaming(job):
                if session.job_starving(job):
                    claims.claim(job, session.pending(job))


def _terms(session: Session, truce: Truce) -> Terms:
    def may_claim(task: Task) -> Reason | None:
        return session.preemptive(session.queue_of(session.jobs[task.job]), [task])

    return Terms(
        action=Reclaim.name,
        question="reclaimable",
        own_queue=False,
        statuses=(TaskStatus.RUNNING,),
        lawful=session.reclaimable,
        reaches=lambda claimant, victim: victim.queue != claimant.queue,
        truce=truce,
        may_claim=may_claim,
    )
