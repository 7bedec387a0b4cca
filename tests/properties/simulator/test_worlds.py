"""The fast world takes the same decisions as the one of objects and watches, on random workloads and policies."""

from __future__ import annotations

from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.simulator.results.job_table import AttemptResult, JobResult
from stromboli.simulator.traced.options import KILL, RUN_ON, ReplayOptions
from stromboli.simulator.worlds.fast_world import FastWorld
from stromboli.simulator.worlds.store_world import StoreWorld
from stromboli.traces.generators.poisson import equal_nodes
from stromboli.traces.trace import TraceJob
from tests.testing.cases.case import configuration, plugin
from tests.testing.random_clusters.effort import examples
from tests.testing.traces.runs import simulated

Table = tuple[list[tuple[object, ...]], list[AttemptResult], int]
NODES = equal_nodes(3, 4, 2)
TAKEN_WHOLE = plugin("gang", enablePreemptable=False, enableReclaimable=False)
PREEMPTING = [
    configuration("priority", "drf", "predicates", "proportion", actions="enqueue, allocate, reclaim, backfill"),
    configuration("priority", TAKEN_WHOLE, "predicates", "proportion", actions="allocate, gangreclaim"),
]
STRATEGIES = [
    configuration(
        "gang", "predicates", "nodeorder", actions="allocate, backfill", arguments={"backfill": {"strategy": name}}
    )
    for name in ("best-effort", "easy", "conservative")
]
SHARING = configuration("gang", "predicates", "gpusharing", "binpack", actions="allocate")

jobs = st.builds(
    TraceJob,
    name=st.just("job"),
    submitted=st.integers(0, 200).map(float),
    run_time=st.sampled_from([0.0, 10.0, 60.0, 61.5, 300.0]),
    pods=st.integers(1, 6),
    cpu=st.sampled_from([500, 1000, 2000, 4000]),
    gpu=st.sampled_from([0, 0, 1000, 2000]),
    requested=st.sampled_from([None, 30.0, 120.0]),
    user=st.sampled_from(["", "ann", "ben"]),
    queue=st.sampled_from(["", "a", "b"]),
    checkpoint=st.sampled_from([None, 20.0]),
)
fractions = jobs.map(lambda job: TraceJob(job.name, job.submitted, job.run_time, 1, 500, gpu=250 * (1 + job.pods % 3)))
options = st.builds(
    ReplayOptions,
    estimates=st.sampled_from(["requested", "actual", "none", "learned"]),
    over_limit=st.sampled_from([KILL, RUN_ON]),
    queues=st.sampled_from(["one", "queue", "user"]),
)


def table(world: type[FastWorld] | type[StoreWorld], trace: list[TraceJob], conf: str, chosen: ReplayOptions) -> Table:
    """Return the table of a simulation, and the number of its cycles."""
    run = simulated(trace, conf, NODES, world=world, **asdict(chosen))
    return [comparable(row) for row in run.jobs.rows()], list(run.jobs.attempts()), run.cycles


def comparable(row: JobResult) -> tuple[object, ...]:
    """Return the row with equal values for unknown numbers, which differ from themselves."""
    return tuple("unknown" if value != value else value for value in row)


def fits(job: TraceJob) -> bool:
    """Report whether the cluster is large enough for a job: a trace without such jobs is an error."""
    return job.pods * job.cpu <= 12_000 and job.pods * job.gpu <= 6_000


def ordered(trace: list[TraceJob]) -> list[TraceJob]:
    return sorted(trace, key=lambda job: job.submitted)


@examples(80)
@given(
    st.lists(jobs, min_size=1, max_size=12).filter(lambda trace: any(map(fits, trace))).map(ordered),
    st.sampled_from([DEFAULT_TEXT, *PREEMPTING, *STRATEGIES]),
    options,
)
def test_worlds_take_the_same_decisions(trace: list[TraceJob], conf: str, chosen: ReplayOptions) -> None:
    assert table(FastWorld, trace, conf, chosen) == table(StoreWorld, trace, conf, chosen)


@examples(20)
@given(st.lists(fractions, min_size=1, max_size=12).map(ordered))
def test_worlds_assign_the_same_fractions_of_gpus(trace: list[TraceJob]) -> None:
    chosen = ReplayOptions(seed=3)
    assert table(FastWorld, trace, SHARING, chosen) == table(StoreWorld, trace, SHARING, chosen)
