"""reclaim: return to queues what they deserve, from queues that use more than they deserve."""

from __future__ import annotations

from stromboli.core.config.action import PreemptingAction
from stromboli.core.config.arguments import PredicateCacheArguments
from stromboli.core.model.tasks.task import TaskStatus
from stromboli.core.preemption import (
    Preemption,
    PreemptionRateArguments,
    PreemptionRates,
    PreemptionRules,
    ThrashGuard,
    VictimOrderArguments,
    reclaim_refusal,
)
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.session import Session


class ReclaimArguments(PredicateCacheArguments, VictimOrderArguments, PreemptionRateArguments):
    """The arguments of reclaim."""


class Reclaim(PreemptingAction):
    name = "reclaim"
    arguments = ReclaimArguments()

    def execute(self, session: Session) -> None:
        starving, growing = session.starving(), session.growing()
        if not starving and not growing:
            return
        preemption = self.trial(session)
        for job in JobOrder(session, starving).jobs_in_turn():
            with session.refusals.isolate_errors(job):
                if session.job_starving(job):
                    preemption.preempt_for(job, session.pending(job))
        preemption.serve_members(growing)

    def trial(self, session: Session) -> Preemption:
        return Preemption(session, self._rules(session))

    def _rules(self, session: Session) -> PreemptionRules:
        rates = PreemptionRates(session, self.name, self.arguments)
        rules = PreemptionRules(
            action=self.name,
            question="reclaimable",
            own_queue=False,
            statuses=(TaskStatus.RUNNING,),
            allowed=session.reclaimable,
            thrash_guard=ThrashGuard(session, self.arguments),
            may_preempt=lambda task: rates.refusal(task) or reclaim_refusal(session, self.name, task),
        )
        return self.arguments.applied_to(rules, session)
