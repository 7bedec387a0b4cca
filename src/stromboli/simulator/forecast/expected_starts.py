"""Expected starts of waiting jobs, as ranges.

Every scenario draws the run times of all pods and simulates the scheduler with the present policy until the waiting
jobs have started. The range of a job covers 80 % of the scenarios: its start lies before the range in one of ten cases,
and after it in one of ten. Jobs that are submitted later are not foreseen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import msgspec

from stromboli import kube
from stromboli.cluster.state.cluster import SCHEDULER_NAMES
from stromboli.core.model.jobs.job import surely_ready
from stromboli.core.model.nodes.shards import ShardChoice
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.model.values.times import format_timestamp
from stromboli.core.session.program import Program
from stromboli.history.run_times import LearnedRunTimes
from stromboli.simulator.forecast.run_times import RunTimes
from stromboli.simulator.forecast.scenario import DrawnEnds, starts_in
from stromboli.simulator.virtual_cluster import VirtualCluster
from stromboli.simulator.workload import Workload, workload_of

#: With 19 scenarios the second and the eighteenth start enclose 80 % of the probability.
SCENARIOS = 19
_TAIL = 0.1


@dataclass(frozen=True, slots=True)
class StartRange:
    """Seconds since the epoch. `earliest` is always known; the others are None if run times are unknown."""

    earliest: float
    expected: float | None = None
    latest: float | None = None

    @property
    def is_known(self) -> bool:
        return self.latest is not None

    def as_plain(self) -> dict[str, Any]:
        """Return the range for JSON and YAML."""
        moments = {"earliest": self.earliest, "expected": self.expected, "latest": self.latest}
        return {name: None if moment is None else format_timestamp(moment) for name, moment in moments.items()}


def expected_starts(
    objects: Iterable[kube.KubeObject],
    program: Program,
    *,
    now: float,
    learned: LearnedRunTimes | None = None,
    past_usage: UsageLedger | None = None,
    jobs: Collection[str] | None = None,
    scenarios: int = SCENARIOS,
    seed: int = 0,
    scheduler_names: Sequence[str] = SCHEDULER_NAMES,
    shard: ShardChoice | None = None,
    placements: Iterable[Placement] = (),
    is_over: Callable[[], bool] = lambda: False,
) -> dict[str, StartRange]:
    """Return the range of every job that has not started, by the key of its PodGroup; or of `jobs` only.

    `learned` are run times of earlier runs (`history.run_times`), `past_usage` what they have used, `placements` those
    of pods that are being bound. The same arguments give the same ranges, unless `is_over` ends the calculation; what
    is not calculated then is unknown.
    """
    entries = list(_with_placements(objects, placements))
    present = _present(entries, now)
    waiting = _waiting(present, program, scheduler_names, seed, shard)
    wanted = waiting if jobs is None else [key for key in waiting if key in jobs]
    if not wanted:
        return {}
    run_times = RunTimes(entries, learned)

    def starts(ends: DrawnEnds) -> dict[str, float]:
        return starts_in(
            present,
            program,
            ends,
            wanted,
            scheduler_names=scheduler_names,
            seed=seed,
            shard=shard,
            is_over=is_over,
            past_usage=past_usage,
        )

    drawn, has_unknown = [], False
    for number in range(scenarios):
        ends = DrawnEnds(run_times, f"{seed}/{number}", now)
        found = starts(ends)
        if is_over():
            break
        drawn.append(found)
        has_unknown |= ends.has_unknown
        if has_unknown and not _varies(drawn):
            break
    bounds = starts(DrawnEnds(run_times, f"{seed}/least", now, is_optimistic=True)) if has_unknown else {}
    return {key: _range([each[key] for each in drawn], bounds.get(key, inf), now) for key in wanted}


def _varies(drawn: Sequence[Mapping[str, float]]) -> bool:
    """Report whether further scenarios are useful: not if no job has started in any of the first ones."""
    return len(drawn) < 3 or any(start < inf for each in drawn for start in each.values())


def _range(starts: Sequence[float], bound: float, now: float) -> StartRange:
    """Return the range of the starts of a job.

    Runs of unknown length do not end in the scenarios, so that the latest start holds in any case; but they may end at
    any time, and then the job starts as soon as `bound`.
    """
    if not starts:
        return StartRange(bound if bound < inf else now)
    ordered = sorted(starts)
    rank = max(round(_TAIL * (len(ordered) + 1)), 1)
    earliest, latest = min(ordered[rank - 1], bound), ordered[len(ordered) - rank]
    expected = ordered[len(ordered) // 2]
    return StartRange(
        earliest if earliest < inf else now, expected if expected < inf else None, latest if latest < inf else None
    )


def _present(entries: Sequence[kube.KubeObject], now: float) -> Workload:
    """Return the objects as a workload without arrivals."""
    workload = workload_of(entries, now)
    return Workload(now, [*workload.present, *(entry for each in workload.arrivals.values() for entry in each)])


def _waiting(
    workload: Workload, program: Program, scheduler_names: Sequence[str], seed: int, shard: ShardChoice | None
) -> list[str]:
    """Return the jobs that have not reached their minimum."""
    virtual = VirtualCluster(program, scheduler_names=scheduler_names, seed=seed, now=workload.start, shard=shard)
    virtual.expect(workload.present)
    virtual.create(workload.present)
    virtual.report()
    jobs = virtual.cluster.cluster_state().jobs
    return sorted(key for key, job in jobs.items() if job.tasks and not job.has_minimum(surely_ready))


def _with_placements(objects: Iterable[kube.KubeObject], placements: Iterable[Placement]) -> Iterable[kube.KubeObject]:
    """Return the objects; pods that are being bound have their nodes."""
    nodes = {placement.uid: placement.node for placement in placements}
    for entry in objects:
        if isinstance(entry, kube.Pod) and not entry.spec.node_name and entry.metadata.uid in nodes:
            spec = msgspec.structs.replace(entry.spec, node_name=nodes[entry.metadata.uid])
            yield msgspec.structs.replace(entry, spec=spec)
        else:
            yield entry
