"""gangpreempt: room for whole gangs at once, at the cost of less important jobs of the same queue."""

from __future__ import annotations

from stromboli.framework.action import Action
from stromboli.framework.eviction import GANG_ARGUMENTS, GangClaims
from stromboli.framework.session import Session
from stromboli.framework.turns import Turns
from stromboli.model.job import Job


class GangPreempt(Action):
    name = "gangpreempt"
    arguments = GANG_ARGUMENTS

    def execute(self, session: Session) -> None:
        starving = [job for job in session.waiting if job.phase != "Pending" and session.job_starving(job)]
        if not starving or not len(session.nodes):
            return
        claims = GangClaims(session, self.name, "preempt", self.given)
        turns = Turns(session, starving)
        while (queue := turns.next_queue()) is not None:
            while (job := turns.next_job(queue)) is not None:
                _serve(session, job, claims)


def _serve(session: Session, job: Job, claims: GangClaims) -> None:
    with session.blaming(job):
        if session.job_starving(job):
            claims.claim(job)
