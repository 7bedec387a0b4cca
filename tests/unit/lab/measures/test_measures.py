"""Figures of runs, by cases that can be calculated by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stromboli.lab.measures import measures_of
from stromboli.lab.measures.fairness import deserved_over_time, deviation_of, fair_shares, jain_index
from stromboli.lab.measures.fragmentation import fragmentation_by_node
from stromboli.lab.measures.usage import node_usage, queue_usage, used_over_time
from stromboli.lab.measures.waiting import waiting_over_time
from stromboli.lab.measures.windows import Windows
from stromboli.traces.trace import TraceNode
from tests.testing.cases.case import configuration
from tests.testing.traces.runs import job, simulated

#: On 4 processors: `a` has all of them for 100 s, then `b` half of them for 50 s, while `c` waits for it until 150.
TRACE = [
    job("a", 0, 100, 4, queue="x", user="ann"), job("b", 50, 50, 2, queue="y", user="ben"),
    job("c", 110, 50, 4, queue="x", user="ann"),
]  # fmt: skip
GPUS = configuration("gang", "predicates", "gpusharing", actions="allocate")


def test_usage_is_the_mean_within_windows() -> None:
    run = simulated(TRACE, queues="queue")
    windows = Windows(run, 4)
    assert windows.edges.tolist() == [0, 50, 100, 150, 200]
    assert used_over_time(run, windows)["cpu"].tolist() == pytest.approx([1, 1, 0.5, 1])
    assert {name: used.tolist() for name, used in queue_usage(run, windows).items()} == {
        "x": pytest.approx([1, 1, 0, 1]), "y": pytest.approx([0, 0, 0.5, 0])
    }  # fmt: skip


def test_used_hours_are_by_queue_and_user_with_interrupted_runs() -> None:
    found = measures_of(simulated(TRACE, queues="queue"))
    assert {name: each["usedHours"]["cpu"] for name, each in found["queues"].items()} == pytest.approx(
        {"x": 4 * 150 / 3600, "y": 2 * 50 / 3600}, abs=1e-3
    )
    assert found["users"]["ann"]["usedHours"] == found["queues"]["x"]["usedHours"]
    assert found["usedHours"]["cpu"] == pytest.approx(700 / 3600, abs=1e-3)
    reclaim = configuration("priority", "predicates", "proportion", actions="allocate, reclaim")
    trace = [*(job(name, 0, 3600, queue="a") for name in "wxyz"), *(job(name, 1800, 3600, queue="b") for name in "pq")]
    run = simulated(trace, reclaim, queues="queue")
    found = measures_of(run)
    assert found["queues"]["a"]["lostHours"] == pytest.approx(1)
    assert found["queues"]["a"]["usedHours"]["cpu"] == pytest.approx(4 + 1)
    assert found["queues"]["b"]["usedHours"]["cpu"] == pytest.approx(2)


def test_mean_within_windows_does_not_depend_on_their_number() -> None:
    run = simulated(TRACE)
    for count in (1, 3, 240):
        assert used_over_time(run, Windows(run, count))["cpu"].mean() == pytest.approx(0.875)


def test_waiting_jobs_are_those_without_an_attempt() -> None:
    run = simulated(TRACE)
    assert waiting_over_time(run, Windows(run, 4)).tolist() == pytest.approx([0, 1, 0.8, 0])


def test_interrupted_job_waits_again() -> None:
    reclaim = configuration("priority", "predicates", "proportion", actions="allocate, reclaim")
    trace = [*(job(name, 0, 100, queue="a") for name in "wxyz"), *(job(name, 50, 10, queue="b") for name in "pq")]
    run = simulated(trace, reclaim, queues="queue")
    windows = Windows(run, round(run.end))
    waiting = waiting_over_time(run, windows)
    assert waiting[55] == pytest.approx(2)
    assert waiting[70] == pytest.approx(0)


def test_usage_of_nodes_is_by_group() -> None:
    run = simulated(TRACE)
    used = node_usage(run, Windows(run, 4), np.array([0, 0, 1, 1]))
    assert used.mean(axis=0).tolist() == pytest.approx([1, 1, 0.5, 1])
    assert used.shape == (2, 4)


@pytest.mark.parametrize(("demand", "weights", "shares"), [
    ([2.0, 2.0], [1, 1], [0.5, 0.5]), ([2.0, 2.0], [3, 1], [0.75, 0.25]), ([0.1, 2.0], [1, 1], [0.1, 0.9]),
    ([0.1, 0.2, 2.0], [1, 1, 1], [0.1, 0.2, 0.7]), ([0.2, 0.3], [1, 5], [0.2, 0.3]), ([0.0, 0.0], [1, 1], [0, 0]),
])  # fmt: skip
def test_fair_shares_are_by_weight_and_at_most_the_demand(
    demand: list[float], weights: list[float], shares: list[float]
) -> None:
    found = fair_shares(np.array(demand)[:, None], np.array(weights, dtype=np.float64))
    assert found[:, 0].tolist() == pytest.approx(shares)


def test_deviation_is_what_another_queue_than_the_deserving_uses() -> None:
    """From 50 to 100 s `y` deserves half and gets nothing; from 110 to 150 s `x` deserves half
    and gets nothing.
    """
    run = simulated(TRACE, queues="queue")
    windows = Windows(run, 4)
    _, deserved = deserved_over_time(run, windows)
    assert deserved["y"].tolist() == pytest.approx([0, 0.5, 0.5, 0])
    assert deserved["x"].tolist() == pytest.approx([1, 0.5, 0.5, 1])
    assert deviation_of(run, windows) == pytest.approx((0 + 0.5 + 0.25 + 0) / 4)
    heavier = replace(run, weights={"x": 3})
    assert deserved_over_time(heavier, windows)[1]["x"].tolist() == pytest.approx([1, 0.75, 0.75, 1])


def test_jain_index_is_between_one_and_one_over_n() -> None:
    assert jain_index(np.array([3.0, 3, 3])) == pytest.approx(1)
    assert jain_index(np.array([1.0, 0, 0, 0])) == pytest.approx(0.25)
    assert jain_index(np.array([])) is None


def test_fragmented_gpus_are_those_that_typical_jobs_cannot_use() -> None:
    """Jobs need 2 GPUs and 8 processors, and beside the first job 2 GPUs and 4 processors are left."""
    nodes = [TraceNode("n", 16000, 0, 4000)]
    trace = [job("a", 0, 100, cpu=12000, gpu=2000), *(job(f"b{n}", 0, 100, cpu=8000, gpu=2000) for n in range(99))]
    run = simulated(trace, GPUS, nodes, until=100)
    windows = Windows(run, 2)
    assert fragmentation_by_node(run, windows)[0].tolist() == pytest.approx([2, 2], abs=0.1)


def test_part_of_a_shared_gpu_that_is_too_small_is_fragmented() -> None:
    nodes = [TraceNode("n", 64000, 0, 1000)]
    trace = [job("a", 0, 100, gpu=700), *(job(f"b{n}", 100, 100, gpu=700) for n in range(30))]
    run = simulated(trace, GPUS, nodes, until=100)
    assert fragmentation_by_node(run, Windows(run, 4))[0].tolist() == pytest.approx([0.3] * 4)


def test_released_shares_make_a_whole_gpu_again() -> None:
    nodes = [TraceNode("n", 64000, 0, 2000)]
    trace = [job("a", 0, 50, gpu=300), job("b", 0, 100, gpu=300), job("c", 100, 100, gpu=2000)]
    run = simulated(trace, GPUS, nodes)
    assert {row.name: row.waited for row in run.jobs.rows()} == {"a": 0, "b": 0, "c": 0}
    fragmented = fragmentation_by_node(run, Windows(run, 4))[0]
    assert fragmented.tolist() == pytest.approx([1.4 / 3, 1.7 / 3, 0, 0])  # for `c`, one of three pods


def test_cluster_without_gpus_has_no_fragmentation() -> None:
    found = measures_of(simulated(TRACE))
    assert found["fragmentation"] is None
    assert found["allocation"] == {"resource": "cpu", "mean": 0.875, "whileWaiting": round(7 / 9, 6)}


def test_run_without_time_has_figures() -> None:
    found = measures_of(simulated([job("a", 0, 0)]))
    assert (found["allocation"]["mean"], found["fairness"]["deviation"], found["waitingJobs"]["max"]) == (0, 0, 0)
