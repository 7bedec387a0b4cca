"""reclaim: return to queues what they deserve, from queues that use more than they deserve."""

from __future__ import annotations

from functools import partial

from stromboli.core.config.action import Action
from stromboli.core.config.arguments import PredicateCacheArguments
from stromboli.core.model.tasks.task import TaskStatus
from stromboli.core.preemption import Preemption, PreemptionRules, ThrashGuard, ThrashGuardArguments, reclaim_refusal
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
        preemption = Preemption(session, _rules(session, ThrashGuard(session, self.arguments.thrashing_window)))
        for job in JobOrder(session, starving).jobs_in_turn():
            with session.refusals.isolate_errors(job):
                if session.job_starving(job):
                    preemption.preempt_for(job, session.pending(job))


def _rules(session: Session, thrash_guard: ThrashGuard) -> PreemptionRules:
    return PreemptionRules(
        action=Reclaim.name,
        question="reclaimable",
        own_queue=False,
        statuses=(TaskStatus.RUNNING,),
        allowed=session.reclaimable,
        may_target=lambda preemptor, victim: victim.queue != preemptor.queue,
        thrash_guard=thrash_guard,
        may_preempt=partial(reclaim_refusal, session, Reclaim.name),
    )
