"""gangreclaim: queues get back what they deserve, whole gangs at once."""

from __future__ import annotations

from stromboli.core.config.action import Action
from stromboli.core.preemption import GANG_ARGUMENTS, GangClaims
from stromboli.core.session.job_order import Turns
from stromboli.core.session.session import Session


class GangReclaim(Action):
    name = "gangreclaim"
    arguments = GANG_ARGUMENTS

    def execute(self, session: Session) -> None:
        starving = session.starving()
        if not starving:
            return
        claims = GangClaims(session, self.name, "reclaim", self.given)
        for job in Turns(session, starving).one_by_one():
            with session.blaming(job):
                if session.job_starving(job):
                    claims.claim(job)
