"""Simulated traces: when jobs start and end, what the scheduler sees, and what interruptions cost."""

from __future__ import annotations

import io
from math import inf, isnan
from typing import Any

import pytest

from stromboli import kube
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.simulator.results.job_table import JobOutcome
from stromboli.simulator.results.rows import write_jobs
from stromboli.simulator.traced.chance import parse_distribution
from stromboli.simulator.worlds.fast_world import FastWorld
from stromboli.simulator.worlds.store_world import StoreWorld
from stromboli.traces.generators.poisson import equal_nodes
from stromboli.traces.trace import TraceError, TraceJob, TraceNode
from tests.testing.cases.case import configuration
from tests.testing.queueing_reference import conservative, easy
from tests.testing.simulations import strategy
from tests.testing.traces.runs import job, rows, simulated, spans

EASY = strategy("easy")
BOTH = pytest.mark.parametrize("world", [FastWorld, StoreWorld])

# -- time ---------------------------------------------------------------------------------------------------------


def test_jobs_run_for_their_actual_run_time() -> None:
    run = simulated([job("a", 0, 100, 4), job("b", 10, 50, 2), job("c", 20, 5, 2)])
    assert spans(run) == {"a": (0, 100), "b": (100, 150), "c": (100, 105)}
    assert (run.start, run.end) == (0, 150)


def test_backfilling_believes_the_request_and_the_world_does_not() -> None:
    """`c` fits beside the reservation of `b` by its request, and `d` only by its actual run time."""
    trace = [
        job("a", 0, 100, 3, requested=100), job("b", 1, 10, 4, requested=10), job("c", 2, 5, 1, requested=90),
        job("d", 3, 5, 1, requested=500),
    ]  # fmt: skip
    assert spans(simulated(trace, EASY)) == {"a": (0, 100), "b": (100, 110), "c": (2, 7), "d": (110, 115)}
    actual = spans(simulated(trace, EASY, estimates="actual"))
    assert actual["d"] == (7, 12)


def test_without_estimates_nothing_is_backfilled_before_a_reservation() -> None:
    trace = [job("a", 0, 100, 3, requested=100), job("b", 1, 10, 4, requested=10), job("c", 2, 5, 1, requested=5)]
    assert spans(simulated(trace, EASY, estimates="none"))["c"][0] == 2
    assert isnan(rows(simulated(trace, EASY, estimates="none"))["c"].estimate)


@pytest.mark.parametrize(("over_limit", "end", "outcome"), [
    ("kill", 60, JobOutcome.KILLED), ("run-on", 100, JobOutcome.COMPLETED)
])  # fmt: skip
def test_job_over_its_request_is_killed_or_runs_on(over_limit: str, end: float, outcome: JobOutcome) -> None:
    row = rows(simulated([job("a", 0, 100, requested=60)], over_limit=over_limit))["a"]
    assert (row.ended, row.outcome) == (end, outcome)


def test_learned_estimate_is_the_mean_of_the_last_two_runs_of_the_user() -> None:
    trace = [
        *(job(f"{n}", n * 100, 10.0 * (n + 1), user="ann", requested=1000) for n in range(4)),
        job("of ben", 400, 10, user="ben", requested=77),
    ]  # fmt: skip
    found = rows(simulated(trace, estimates="learned"))
    assert [found[str(n)].estimate for n in range(4)] == [1000, 1000, 15, 25]
    assert found["of ben"].estimate == 77


def test_endless_job_runs_until_the_end() -> None:
    row = rows(simulated([job("a", 0, None), job("b", 5, 10)]))["a"]
    assert (row.outcome, isnan(row.ended), isnan(row.run_time)) == (JobOutcome.RUNNING, True, True)


def test_end_of_the_simulation_leaves_jobs_running_and_waiting() -> None:
    found = rows(simulated([job("a", 0, 100, 4), job("b", 10, 50, 4)], until=60))
    assert [found[name].outcome for name in "ab"] == [JobOutcome.RUNNING, JobOutcome.WAITING]


def test_job_of_no_time_ends_at_its_start() -> None:
    assert spans(simulated([job("a", 3, 0, 4), job("b", 3, 5, 4)])) == {"a": (3, 3), "b": (4, 9)}


def test_cycles_are_a_period_apart() -> None:
    trace = [job("a", 0, 10), job("b", 0.5, 10), job("c", 1.25, 10)]
    assert [start for start, _ in spans(simulated(trace)).values()] == [0, 1, 2]
    assert [start for start, _ in spans(simulated(trace, period=0.1)).values()] == [0, 0.5, 1.25]


def test_starts_agree_with_the_reference_of_backfilling() -> None:
    shapes = [(n * 37 % 400, 20 + n * 53 % 300, 1 + n * 7 % 16) for n in range(40)]
    shapes.sort()
    trace = [job(str(n), at, run, size) for n, (at, run, size) in enumerate(shapes)]
    for name, reference in (("easy", easy), ("conservative", conservative)):
        run = simulated(trace, strategy(name), 16, estimates="actual", layout="pool")
        assert [row.started for row in run.jobs.rows()] == reference(shapes, 16)


# -- chance -------------------------------------------------------------------------------------------------------


def test_start_latency_delays_the_end_and_not_the_start() -> None:
    run = simulated([job("a", 0, 100, 2)], start_latency=parse_distribution("30s"))
    assert spans(run) == {"a": (0, 130)}


def test_failed_job_is_tried_again_from_its_checkpoint() -> None:
    run = simulated([job("a", 0, 100, checkpoint=20)], failures=parse_distribution("constant:50s"))
    row = rows(run)["a"]
    assert (row.failures, row.lost, row.outcome) == (2, 20, JobOutcome.COMPLETED)
    spans_of_attempts = [(attempt.started, attempt.ended) for attempt in run.jobs.attempts()]
    assert spans_of_attempts == [(0, 50), (50, 100), (100, 120)]


def test_job_without_checkpoints_fails_after_its_retries() -> None:
    row = rows(simulated([job("a", 0, 100)], failures=parse_distribution("60s"), retries=2))["a"]
    assert (row.failures, row.lost, row.outcome, row.ended) == (3, 180, JobOutcome.FAILED, 180)


DRAWS: dict[str, Any] = {
    "start_latency": parse_distribution("lognormal:20s,1"),
    "failures": parse_distribution("weibull:5m,0.8"),
}


@pytest.mark.parametrize("conf", [strategy("best-effort"), EASY])
def test_seed_decides_the_bytes_of_the_result(conf: str) -> None:
    trace = [job(str(n), n * 10, 60 + n * 13 % 200, 1 + n % 4) for n in range(30)]

    def text(seed: int) -> str:
        file = io.StringIO()
        write_jobs(simulated(trace, conf, **{**DRAWS, "seed": seed}).jobs, file)
        return file.getvalue()

    assert text(1) == text(1) != text(2)


def test_policies_meet_the_same_luck() -> None:
    trace = [job(str(n), 0, 60, 2) for n in range(6)]
    both = [simulated(trace, conf, **DRAWS) for conf in (strategy("best-effort"), EASY)]
    first = [{each.job: each.ended - each.started for each in reversed(list(run.jobs.attempts()))} for run in both]
    assert first[0] == pytest.approx(first[1])


@pytest.mark.parametrize("text", ["gamma:3s", "uniform:3s", "uniform:9s,3s", "exponential:soon", "weibull:3s,0", "3"])
def test_invalid_distribution_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"write|wrong order|above zero"):
        parse_distribution(text)


# -- preemption ---------------------------------------------------------------------------------------------------

RECLAIM = configuration("priority", "predicates", "proportion", actions="allocate, reclaim")
BORROWED = [
    *(job(name, 0, 100, queue="a", checkpoint=30) for name in "wxyz"),
    *(job(name, 50, 10, queue="b") for name in "pq"),
]  # fmt: skip


@BOTH
def test_preempted_job_loses_its_work_since_the_checkpoint(world: Any) -> None:
    run = simulated(BORROWED, RECLAIM, world=world, queues="queue")
    found = rows(run)
    victims = [row for row in found.values() if row.preemptions]
    assert len(victims) == 2
    assert {(row.preemptions, row.lost, row.waited, row.ended) for row in victims} == {(1, 20, 11, 131)}
    assert {found[name].started for name in "pq"} == {51}
    assert [each.outcome for each in run.jobs.attempts()].count(JobOutcome.PREEMPTED) == 2


@BOTH
def test_gang_that_loses_a_pod_starts_again_as_a_whole(world: Any) -> None:
    trace = [job("gang", 0, 100, 4, queue="a"), job("p", 50, 10, queue="b")]
    found = rows(simulated(trace, RECLAIM, world=world, queues="queue"))
    assert (found["gang"].preemptions, found["gang"].lost) == (1, 50)
    assert found["gang"].ended > 150


# -- shapes -------------------------------------------------------------------------------------------------------

BIG = equal_nodes(4, 8)


@pytest.mark.parametrize(("layout", "pods", "cpu"), [("processors", 10, 1000), ("nodes", 2, 8000), ("pool", 1, 10_000)])
def test_layouts_change_the_pods_of_a_job(layout: str, pods: int, cpu: int) -> None:
    row = rows(simulated([job("a", 0, 5, 10)], nodes=BIG, layout=layout))["a"]
    assert (row.pods, row.cpu) == (pods, cpu)


def test_accepted_models_of_gpus_restrict_the_nodes() -> None:
    nodes = [TraceNode("old", 8000, 0, 4000, "T4"), TraceNode("new", 8000, 0, 4000, "V100")]
    run = simulated([job("a", 0, 5, 2, gpu=2000, gpu_models=("V100",))], nodes=nodes)
    assert [[run.nodes[row].name for row in each.nodes] for each in run.jobs.attempts()] == [["new", "new"]]


def test_fractions_of_gpus_need_a_plugin() -> None:
    nodes = [TraceNode("n", 64000, 0, 1000)]
    trace = [job(str(n), 0, 10, gpu=400) for n in range(3)]
    shared = simulated(trace, configuration("gang", "predicates", "gpusharing", actions="allocate"), nodes)
    assert sorted(start for start, _ in spans(shared).values()) == [0, 0, 10]
    assert not shared.warnings
    assert "add gpusharing" in simulated(trace, nodes=nodes).warnings[0]


def test_memory_is_ignored_where_nodes_have_none() -> None:
    assert rows(simulated([job("a", 0, 5, memory=1 << 40)]))["a"].memory == 0


def test_limits_of_a_queue_apply() -> None:
    queue = kube.KubeQueue(metadata=ObjectMeta(name="a", uid="a"), spec=kube.QueueSpec(capability={"cpu": "1"}))
    conf = configuration("gang", "predicates", "proportion", actions="allocate")
    run = simulated([job(name, 0, 10, queue="A") for name in "xyz"], conf, queues="queue", objects=[queue])
    assert sorted(start for start, _ in spans(run).values()) == [0, 10, 20]


# -- errors -------------------------------------------------------------------------------------------------------


def test_job_larger_than_the_cluster_is_rejected_and_counted() -> None:
    run = simulated([job("huge", 0, 10, 5, line=7), job("a", 1, 10)])
    assert list(rows(run)) == ["a"]
    assert run.rejected == {"larger than the cluster": 1}


def test_pending_job_without_run_time_is_rejected() -> None:
    run = simulated([job("a", 0, None, status="pending"), job("b", 1, 5)])
    assert run.rejected == {"never scheduled": 1}


@pytest.mark.parametrize(("jobs", "message"), [
    ([], "test: no jobs; a trace has at least one"),
    ([job("a", 5, 1), job("b", 4, 1)], "test: job b was submitted at 4 s, before job a at 5 s"),
])  # fmt: skip
def test_trace_that_cannot_be_simulated_is_an_error(jobs: list[TraceJob], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        simulated(jobs)


def test_checkpoints_are_infinitely_far_apart_by_default() -> None:
    row = rows(simulated([job("a", 0, 100)], failures=parse_distribution("60s"), retries=1))["a"]
    assert row.lost == 120
    assert row.run_time < inf
