"""sla: nobody waits longer than was agreed.

Jobs with an agreed waiting time are served in the order of their deadlines. Once a deadline has passed, the job is let
in and keeps what room it finds, so that it is not overtaken by smaller jobs for ever.
"""

from __future__ import annotations

import math

from stromboli.core.config.arguments import Argument
from stromboli.core.config.combining import Vote
from stromboli.core.config.plugin import Key, Plugin
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Reason
from stromboli.core.model.values.durations import parse_duration
from stromboli.core.session.session import Session

WAITING_TIME = "sla-waiting-time"
#: On PodGroups; the first one counts.
_ANNOTATIONS = (f"volcano.sh/{WAITING_TIME}", WAITING_TIME)


def _waiting_time(text: str) -> float:
    """Nothing agreed is for ever."""
    return parse_duration(text) if text else math.inf


class Sla(Plugin):
    name = "sla"
    arguments = (
        Argument(WAITING_TIME, str, "", "How long jobs may wait that do not say it themselves.", form=_waiting_time),
    )

    def open(self, session: Session) -> None:
        self._now = session.now
        self._usual = _waiting_time(self.given[WAITING_TIME])
        self._warnings = session.warnings
        self._deadlines: dict[str, float] = {}

    def job_order(self, job: Job) -> Key:
        return self._deadline(job)

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        return self._vote(job)

    def job_pipelined(self, job: Job) -> Vote | Reason:
        return self._vote(job)

    def _vote(self, job: Job) -> Vote:
        return Vote.PERMIT if self._now >= self._deadline(job) else Vote.ABSTAIN

    def _deadline(self, job: Job) -> float:
        known = self._deadlines.get(job.key)
        if known is None:
            known = self._deadlines[job.key] = (job.spec.created or self._now) + self._agreed(job)
        return known

    def _agreed(self, job: Job) -> float:
        """How long the job may wait. An annotation that makes no sense agrees on nothing of its own."""
        for key in _ANNOTATIONS:
            if key in job.spec.annotations:
                try:
                    return parse_duration(job.spec.annotations[key])
                except ValueError as error:
                    self._warnings.append(f"PodGroup {job.key}: annotation {key}: {error}; it is left out")
        return self._usual
