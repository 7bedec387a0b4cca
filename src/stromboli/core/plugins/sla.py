"""sla: limit the waiting time of jobs.

Jobs with a maximum waiting time are ordered by deadline. After its deadline a job is admitted and keeps the capacity it
finds, so that smaller jobs do not overtake it indefinitely.
"""

from __future__ import annotations

import math

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.combining import Vote
from stromboli.core.config.plugin import Key, Plugin
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Reason
from stromboli.core.model.values.times import parse_duration
from stromboli.core.session.session import Session

WAITING_TIME = "sla-waiting-time"
#: On PodGroups; the first one counts.
_ANNOTATIONS = (f"volcano.sh/{WAITING_TIME}", WAITING_TIME)


def _waiting_time(text: str) -> float:
    """Parse a waiting time; an empty text means no limit."""
    return parse_duration(text) if text else math.inf


class SlaArguments(Arguments):
    waiting_time: float = Argument(WAITING_TIME, "", "Maximum wait of jobs without an annotation.", parse=_waiting_time)


class Sla(Plugin):
    name = "sla"
    arguments = SlaArguments()

    def open(self, session: Session) -> None:
        self._now = session.now
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
        """Return how long the job may wait; an invalid annotation is ignored."""
        for key in _ANNOTATIONS:
            if key in job.spec.annotations:
                try:
                    return parse_duration(job.spec.annotations[key])
                except ValueError as error:
                    self._warnings.append(f"PodGroup {job.key}: annotation {key}: {error}; it is ignored")
        return self.arguments.waiting_time
