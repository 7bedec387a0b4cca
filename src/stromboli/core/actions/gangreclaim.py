"""gangreclaim: return to queues what they deserve, whole gangs at once."""

from __future__ import annotations

from stromboli.core.config.action import PreemptingAction
from stromboli.core.preemption import GangArguments, GangPreemption
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.session import Session


class GangReclaim(PreemptingAction):
    name = "gangreclaim"
    arguments = GangArguments()

    def execute(self, session: Session) -> None:
        starving = session.starving()
        if not starving:
            return
        preemption = self.trial(session)
        for job in JobOrder(session, starving).jobs_in_turn():
            with session.refusals.isolate_errors(job):
                if session.job_starving(job):
                    preemption.preempt_for(job)

    def trial(self, session: Session) -> GangPreemption:
        return GangPreemption(session, self.name, "reclaim", self.arguments)
