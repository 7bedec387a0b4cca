"""gangpreempt: room for whole gangs at once, at the cost of less important jobs of the same queue."""

from __future__ import annotations

from stromboli.core.config.action import Action
from stromboli.core.preemption import GangArguments, GangPreemption
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.session import Session


class GangPreempt(Action):
    name = "gangpreempt"
    arguments = GangArguments()

    def execute(self, session: Session) -> None:
        starving = session.starving()
        if not starving:
            return
        claims = GangPreemption(session, self.name, "preempt", self.arguments)
        turns = JobOrder(session, starving)
        while (queue := turns.next_queue()) is not None:
            while (job := turns.next_job(queue)) is not None:
                with session.isolate_errors(job):
                    if session.job_starving(job):
                        claims.claim(job)
