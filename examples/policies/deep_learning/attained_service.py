"""attained-service: jobs that have had little GPU time come first, and preempt the others.

The discretised least attained service of Tiresias (Gu et al., NSDI 2019): no run time has to be known. A job begins in
the first level; when its GPU time reaches a threshold, it moves to the next one. Lower levels preempt higher ones, and
within a level the job that was submitted first comes first. GPU time is kept in memory, from the first cycle on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from stromboli.api import Argument, Arguments, Job, Key, Plugin, Session, Task, Victims, parse_duration


def _thresholds(text: str) -> list[float]:
    return sorted(parse_duration(part.strip()) for part in text.split(","))


class AttainedServiceArguments(Arguments):
    resource: str = Argument("resource", "nvidia.com/gpu", "The resource whose use counts.")
    thresholds: list[float] = Argument("thresholds", "1h", "GPU time at which a job moves on.", parse=_thresholds)


class AttainedService(Plugin):
    name = "attained-service"
    arguments = AttainedServiceArguments()

    def __init__(self, arguments: AttainedServiceArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self._service: dict[str, float] = {}
        #: What jobs have held since the last cycle.
        self._held: dict[str, float] = {}
        self._before = 0.0

    def open(self, session: Session) -> None:
        self._jobs, elapsed = session.jobs, session.now - self._before
        self._service = {
            key: self._service.get(key, 0.0) + self._held.get(key, 0.0) * elapsed for key in session.jobs
        }  # fmt: skip

    def close(self, session: Session) -> None:
        dimension = session.axis.find(self.arguments.resource)
        self._before, self._held = session.now, {}
        if dimension is not None:
            self._held = {key: job.allocated[dimension] / 1000 for key, job in session.jobs.items()}

    def job_order(self, job: Job) -> Key:
        return (self._level(job), job.spec.created)

    def job_starving(self, job: Job) -> bool:
        return job.is_starving

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        own = self._level(self._jobs[preemptor.job])
        return [task for task in candidates if self._level(self._jobs[task.job]) > own]

    def _level(self, job: Job) -> int:
        return bisect_right(self.arguments.thresholds, self._service.get(job.key, 0.0))
