"""gangreclaim: queues get back what they deserve, whole gangs at once."""

from __future__ import annotations

from stromboli.framework.action import Action
from stromboli.framework.eviction import GANG_ARGUMENTS, GangClaims
from stromboli.framework.session import Session
from stromboli.framework.turns import Turns
from stromboli.model.job import Job


class GangReclaim(Action):
    name = "gangreclaim"
    arguments = GANG_ARGUMENTS

    def execute(self, session: Session) -> None:
        starving = [job for job in session.waiting if job.phase != "Pending" and session.job_starving(job)]
        if not starving or not len(session.nodes):
            return
        claims = GangClaims(session, self.name, "reclaim", self.given)
        turns = Turns(session, starving)
        while (queue := turns.next_queue()) is not None:
            if session.is_overused(queue):
                continue
            job = turns.next_job(queue)
            if job is not None:
                _serve(session, job, claims)
            turns.return_queue(queue)


def _serve(session: Session, job: Job, claims: GangClaims) -> None:
    with session.blaming(job):
        if session.job_starving(job):
            claims.claim(job)
