"""The data of pictures, by a run that can be followed by hand; and all pictures of runs that differ much."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from stromboli.lab.pictures import (
    job_gantt,
    node_gantt,
    node_map,
    queue_areas,
    queue_shares,
    slowdown_by_size,
    utilisation,
    wait_distribution,
    waiting_jobs,
)  # fmt: skip
from stromboli.lab.pictures.catalogue import compared_pictures, pictures_of
from stromboli.lab.pictures.rendering import png_of, svg_of
from stromboli.simulator.results.run import SimulationRun
from stromboli.traces.trace import TraceJob, TraceNode
from tests.testing.cases.case import configuration
from tests.testing.traces.runs import job, simulated

#: On 4 processors: `a` has all of them for 100 s, then `b` half of them for 50 s, while `c` waits for it until 150.
TRACE = [
    job("a", 0, 100, 4, queue="x", user="ann"), job("b", 50, 50, 2, queue="y", user="ben"),
    job("c", 110, 50, 4, queue="x", user="ann"),
]  # fmt: skip
RECLAIM = configuration("priority", "predicates", "proportion", actions="allocate, reclaim")


@pytest.fixture(scope="module")
def run() -> SimulationRun:
    return simulated(TRACE, queues="queue")


def values(spec: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = spec["data"]["values"]
    return found


def _seconds(row: dict[str, Any]) -> tuple[int, int]:
    """Return the times of a bar of the run, whose unit are minutes."""
    return round(row["from"] * 60), round(row["to"] * 60)


def test_waits_and_attempts_are_rows_of_jobs(run: SimulationRun) -> None:
    found = [(row["job"], row["group"], *_seconds(row), "attempt" in row) for row in values(job_gantt(run))]
    assert sorted(found) == [
        ("a", "x", 0, 0, False), ("a", "x", 0, 100, True), ("b", "y", 50, 100, False), ("b", "y", 100, 150, True),
        ("c", "x", 110, 150, False), ("c", "x", 150, 200, True),
    ]  # fmt: skip


def test_job_is_a_bar_on_each_of_its_nodes(run: SimulationRun) -> None:
    bars = values(node_gantt(run))
    assert [sum(row["job"] == name for row in bars) for name in "abc"] == [4, 2, 4]


def test_job_that_is_interrupted_waits_again() -> None:
    trace = [*(job(name, 0, 100, queue="a") for name in "wxyz"), *(job(name, 50, 10, queue="b") for name in "pq")]
    found = values(job_gantt(simulated(trace, RECLAIM, queues="queue")))
    bars = [(row["job"], row["outcome"]) for row in found if "attempt" in row]
    again = [row for row in found if "attempt" not in row and row["job"] in "wxyz" and row["from"] > 0]
    assert sum(outcome == "preempted" for _, outcome in bars) == len(again) == 2
    assert all(row["from"] == pytest.approx(50, abs=1.1) and row["to"] > row["from"] for row in again)


def test_jobs_of_one_node_are_side_by_side() -> None:
    jobs = [job(f"j{number}", number * 10, 25) for number in range(8)]
    bars = values(node_gantt(simulated(jobs, nodes=[TraceNode("big", 4000)])))
    lanes: dict[str, list[tuple[float, float]]] = {}
    for row in bars:
        lanes.setdefault(row["row"], []).append((row["from"], row["to"]))
    assert len(bars) == 8
    assert len(lanes) == 3
    assert all(
        first[1] <= second[0] for lane in lanes.values() for first, second in pairwise(lane)
    )  # fmt: skip


def test_long_run_is_drawn_where_most_jobs_wait() -> None:
    calm = [job(f"calm-{number}", number * 10, 5) for number in range(200)]
    crowd = [job(f"crowd-{number}", 1200, 20) for number in range(150)]
    run = simulated(sorted([*calm, *crowd], key=lambda each: each.submitted))
    spec = job_gantt(run)
    names = {row["job"] for row in values(spec)}
    assert len(names) == 100
    assert sum(name.startswith("crowd") for name in names) > 50
    assert spec["title"] == "Jobs while most jobs wait"


def test_long_run_without_waiting_jobs_is_drawn_in_the_middle() -> None:
    spec = job_gantt(simulated([job(f"j{number}", number * 10, 5) for number in range(300)]))
    names = {int(row["job"].removeprefix("j")) for row in values(spec)}
    assert names == set(range(100, 200))
    assert spec["title"] == "Jobs in the middle of the run"


def test_part_of_jobs_that_started_within_a_time_counts_those_that_never_started() -> None:
    trace = [job("a", 0, None, 4), job("b", 0, 10, 4)]
    distribution = values(wait_distribution([simulated(trace, until=100)]))
    assert [row["started"] for row in distribution] == [0.5]


def test_lines_have_the_mean_of_the_run(run: SimulationRun) -> None:
    used = [row["used"] for row in values(utilisation([run], "cpu"))]
    waiting = [row["waiting"] for row in values(waiting_jobs([run]))]
    assert sum(used) / len(used) == pytest.approx(0.875, abs=1e-3)
    assert sum(waiting) / len(waiting) == pytest.approx((50 + 40) / 200, abs=1e-3)
    assert sum(row["used"] for row in values(queue_areas(run))) == pytest.approx(sum(used), abs=1e-2)


def test_queue_deserves_what_it_requests_while_another_has_it(run: SimulationRun) -> None:
    at_75 = {row["queue"]: row for row in values(queue_shares(run)) if 74 < row["time"] * 60 < 75}
    assert (at_75["x"]["used"], at_75["x"]["deserved"], at_75["y"]["deserved"]) == (1, 0.5, 0.5)


def test_slowdown_is_by_size_and_policy(run: SimulationRun) -> None:
    (found,) = values(slowdown_by_size([run, run]))
    assert (found["size"], found["jobs"], found["median"], found["p95"]) == ("2-4", 6, 1.8, 2)
    assert found["mean"] == pytest.approx((1 + 2 + 1.8) / 3, abs=1e-3)


MIXED = [job(f"g{number}", number, 40 + number, 1 + number % 3, gpu=500 * (number % 3)) for number in range(30)]
NODES = [TraceNode(f"node-{number}", 8000, 0, 2000, "T4") for number in range(3)]
RUNS: dict[str, tuple[Sequence[TraceJob], int | Sequence[TraceNode]]] = {
    "one job": ([job("a", 0, 1)], 4),
    "nothing starts": ([job("a", 0, None, 4), job("b", 0, 10, 4)], 4),
    "GPUs": (MIXED, NODES),
    "more users than colours": ([job(f"j{user}", user, 9, user=f"u{user}") for user in range(30)], 4),
    "names of other scripts": ([job("</script><b>", 0, 9, user="'\"&"), job("\u202e \u4e2d", 0, 9, user="\0")], 4),
    "more nodes than rows": ([job(f"j{number}", number, 9, 90) for number in range(20)], 300),
    "no time": ([job("a", 0, 0)], 4),
}


@pytest.mark.parametrize("name", RUNS)
def test_pictures_are_specifications_for_json(name: str) -> None:
    trace, nodes = RUNS[name]
    run = simulated(trace, nodes=nodes, until=3600, queues="user")
    found = [*compared_pictures([run], [run, run]), *pictures_of(run)]
    names = [picture.name for picture in found]
    assert len(set(names)) == len(names) >= 7
    for picture in found:
        assert len(json.dumps(picture.spec, allow_nan=False)) < 300_000, picture.name


def _rectangles(svg: str) -> int:
    return svg.count('aria-roledescription="bar"')


def test_pictures_are_rendered_without_a_browser(run: SimulationRun) -> None:
    svg = svg_of(node_gantt(run))
    assert _rectangles(svg) == 10
    assert svg_of(node_gantt(run)) == svg
    assert png_of(node_map(run)).startswith(b"\x89PNG")


def test_pictures_without_the_extra_are_an_error(run: SimulationRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(ImportError, match=r"pip install 'stromboli\[lab\]'"):
        svg_of(node_gantt(run))
