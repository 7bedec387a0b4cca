"""gangpreempt: preempt for whole gangs at once, within a queue."""

from __future__ import annotations

from stromboli.core.config.action import PreemptingAction
from stromboli.core.preemption import GangArguments, GangPreemption
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.session import Session


class GangPreempt(PreemptingAction):
    name = "gangpreempt"
    arguments = GangArguments()

    def execute(self, session: Session) -> None:
        starving = session.starving()
        if not starving:
            return
        preemption = self.trial(session)
        job_order = JobOrder(session, starving)
        while (queue := job_order.next_queue()) is not None:
            while (job := job_order.next_job(queue)) is not None:
                with session.refusals.isolate_errors(job):
                    if session.job_starving(job):
                        preemption.preempt_for(job)

    def trial(self, session: Session) -> GangPreemption:
        return GangPreemption(session, self.name, "preempt", self.arguments)
