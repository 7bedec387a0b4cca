"""gangreclaim: queues get back what they deserve, whole gangs at once."""

from __future__ import annotations

from stromboli.framework.action import Action
from stromboli.framework.eviction import GANG_ARGUMENTS, GangClaims
from stromboli.framework.session import Session
from stromboli.framework.turns import Turns


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
