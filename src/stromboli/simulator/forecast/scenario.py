"""One scenario: a draw of all run times, and the starts that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import ceil, inf, log
from random import Random

from stromboli import kube
from stromboli.core.model.jobs.job import surely_ready
from stromboli.core.model.nodes.shards import ShardChoice
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.model.values.run_time_estimates import RunTimeSource
from stromboli.core.session.program import Program
from stromboli.simulator.forecast.run_times import RunTimes
from stromboli.simulator.simulation import CycleIntervals, Simulation
from stromboli.simulator.virtual_cluster import PodEnds
from stromboli.simulator.workload import Workload

#: Ends of pods are moved to a grid of moments, this much apart, so that those of a large cluster share cycles.
_GRID = 1.01
_INTERVALS = CycleIntervals(idle=7 * 86_400.0)


class DrawnEnds:
    """The ends of pods in one scenario. Pods with the same run share their draw."""

    def __init__(self, run_times: RunTimes, name: str, start: float, *, is_optimistic: bool = False) -> None:
        self._run_times = run_times
        self._name = name
        self._start = start
        self._is_optimistic = is_optimistic
        self._parts: dict[str, float] = {}
        #: Whether a run time was needed that is unknown.
        self.has_unknown = False

    def __call__(self, pod: kube.Pod, began: float, now: float) -> float:
        """Return when a pod ends that began at some time and has not ended yet."""
        run, estimate = self._run_times.estimate(pod)
        if estimate.source is RunTimeSource.UNKNOWN:
            self.has_unknown = True
            if self._is_optimistic:
                return now
        part = 0.1 if self._is_optimistic else self._part(run)
        return self._on_grid(began + estimate.draw(part, max(now - began, 0.0)))

    def _part(self, run: str) -> float:
        part = self._parts.get(run)
        if part is None:
            part = self._parts[run] = Random(f"{self._name}/{run}").random()  # noqa: S311 - a simulation
        return part

    def _on_grid(self, end: float) -> float:
        seconds = end - self._start
        if seconds == inf or seconds <= 60:
            return end
        return self._start + _GRID ** ceil(log(seconds) / log(_GRID))


def starts_in(
    workload: Workload,
    program: Program,
    ends: PodEnds,
    jobs: Collection[str],
    *,
    scheduler_names: Sequence[str],
    seed: int,
    shard: ShardChoice | None,
    is_over: Callable[[], bool],
    past_usage: UsageLedger | None = None,
) -> dict[str, float]:
    """Return when each of these jobs reaches its minimum; infinite where that does not happen."""
    simulation = Simulation(
        workload, program, scheduler_names=scheduler_names, seed=seed, shard=shard, intervals=_INTERVALS, ends=ends
    )
    if past_usage is not None:
        simulation.virtual_cluster.include_past(past_usage.copy())
    cluster, missing = simulation.virtual_cluster.cluster, set(jobs)
    starts = dict.fromkeys(jobs, inf)

    def look(moment: float, left: int) -> None:
        present = cluster.cluster_state().jobs
        for key in sorted(missing):
            job = present.get(key)
            if job is None or job.has_minimum(surely_ready):
                starts[key] = moment
                missing.discard(key)

    simulation.run(progress=look, stop=lambda: not missing or is_over())
    return starts
