"""The run times that the scheduler sees, while the simulated world uses the actual ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from stromboli.traces.trace import TraceJob

REQUESTED, ACTUAL, NONE, LEARNED = ESTIMATES = ("requested", "actual", "none", "learned")
#: The number of runs of a user that count: recent runs predict best (Tsafrir, Etsion and Feitelson, TPDS 18(6), 2007).
_RUNS = 2

Estimate = Callable[[TraceJob], float | None]


class LearnedEstimates:
    """The mean of a user's last two runs that have ended, at most what the user requested."""

    def __init__(self) -> None:
        self._runs: dict[str, deque[float]] = {}

    def __call__(self, job: TraceJob) -> float | None:
        runs = self._runs.get(job.user) if job.user else None
        if not runs or len(runs) < _RUNS:
            return job.requested
        mean = sum(runs) / len(runs)
        return mean if job.requested is None else min(mean, job.requested)

    def ended(self, user: str, run_time: float) -> None:
        self._runs.setdefault(user, deque(maxlen=_RUNS)).append(run_time)


def estimate_of(name: str, learned: LearnedEstimates) -> Estimate:
    estimates: dict[str, Estimate] = {
        REQUESTED: lambda job: job.requested,
        ACTUAL: lambda job: job.run_time,
        NONE: lambda job: None,
        LEARNED: learned,
    }
    return estimates[name]
