"""Simulations: arrival, waiting, run time and end of jobs."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.kube.objects.timestamps import RUN_TIME
from stromboli.simulator.report import report_of
from tests.testing.cases.case import configuration, plugin
from tests.testing.manifests.builders import gang, gang_of, manifest, node, nodes, pod, priority_class, queue, running
from tests.testing.simulations import ends, job, minutes, simulate, simulation, starts

#: Gangs may be evicted, but only as a whole.
TAKEN_WHOLE = plugin("gang", enablePreemptable=False, enableReclaimable=False)
PREEMPTING = configuration("priority", TAKEN_WHOLE, "predicates", actions="allocate, preempt")
RECLAIMING = configuration(TAKEN_WHOLE, "predicates", "proportion", actions="allocate, reclaim")


class Case:
    """Manifests, and the start and end of each job in minutes."""

    def __init__(self, name: str, *manifests: Any, times: dict[str, tuple[float | None, float | None]]) -> None:
        self.name, self.manifests, self.times = name, manifests, times

    def __str__(self) -> str:
        return self.name


CASES = [
    Case("job runs for its run time", nodes(4, 1), job("a", 2, 1, 30), times={"a": (0, 30)}),
    Case("job starts at its arrival", nodes(4, 1), job("a", 1, 1, 30, after=5), times={"a": (5, 35)}),
    Case(
        "next job starts at the end of the first",
        nodes(4, 1), job("a", 1, 4, 30), job("b", 1, 4, 10, after=5), times={"a": (0, 30), "b": (30, 40)},
    ),
    Case(
        "gang waits for its whole capacity",
        nodes(4, 2), job("a", 1, 4, 30), job("b", 1, 4, 10), job("c", 2, 4, 5, after=1),
        times={"a": (0, 30), "b": (0, 10), "c": (30, 35)},
    ),
    Case(
        "simultaneous jobs are ordered",
        nodes(4, 1), job("b", 1, 3, 5), job("a", 1, 3, 5), times={"a": (0, 5), "b": (5, 10)},
    ),
    Case("deadline is a run time", nodes(4, 1), gang(1, name="a", activeDeadlineSeconds=90), times={"a": (0, 1.5)}),
    Case("job without run time runs indefinitely", nodes(4, 1), job("a", 1, 4, None), job("b", 1, 4, 1, after=1),
          times={"a": (0, None), "b": (None, None)}),
    Case(
        "creation timestamps are arrivals",
        nodes(4, 1), gang(1, 1, name="a", created="2026-01-01T00:00:00Z", annotations={RUN_TIME: "1m"}),
        gang(1, 1, name="b", created="2026-01-01T00:10:00Z", annotations={RUN_TIME: "1m"}),
        times={"a": (0, 1), "b": (10, 11)},
    ),
    Case(
        "running pod ends after its run time",
        nodes(4, 1), running("a", 4, annotations={RUN_TIME: "10m"}), job("b", 1, 4, 5), times={"b": (10, 15)},
    ),
    Case(
        "terminating pod is removed",
        nodes(4, 1), running("a", 4, releasing=True), job("b", 1, 4, 5), times={"b": (1 / 60, 5 + 1 / 60)},
    ),
    Case(
        "node arrives later",
        manifest("Node", "a", metadata={"annotations": {"scheduling.stromboli.dev/arrives-after": "7m"}},
                 status={"allocatable": {"cpu": 4}}),
        job("a", 1, 4, 5), times={"a": (7, 12)},
    ),
    Case(
        "plain pod is a job",
        nodes(4, 1), pod(1, name="lone", annotations={RUN_TIME: "3m"}), times={"podgroup-pod-default-lone": (0, 3)},
    ),
    Case(
        "job starts with its minimum and grows",
        nodes(4, 1), job("a", 1, 3, 10), job("b", 2, 1, 20, minimum=1, after=1), times={"a": (0, 10), "b": (1, 30)},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_start_and_end_times(case: Case) -> None:
    measured = simulate(*case.manifests, until=60 * 24)
    began, ended = starts(measured), ends(measured)
    assert {name: (began[name], ended[name]) for name in began} == case.times


def test_pods_have_their_own_arrivals() -> None:
    """The group arrives with the first of its pods, and the job ends with the last one."""
    late = pod(1, annotations={RUN_TIME: "5m", "scheduling.stromboli.dev/arrives-after": "10m"})
    early = pod(1, annotations={RUN_TIME: "5m", "scheduling.stromboli.dev/arrives-after": "2m"})
    measured = simulate(nodes(4, 1), gang_of(early, late, name="a", minimum=1))
    assert (starts(measured), ends(measured)) == ({"a": 2}, {"a": 15})
    assert measured.jobs["default/a"].pods == 2


def test_pod_may_arrive_at_the_start() -> None:
    first = pod(1, annotations={RUN_TIME: "5m", "scheduling.stromboli.dev/arrives-after": "0s"})
    run = simulation(nodes(4, 1), gang_of(first, name="a", minimum=1))
    assert starts(run.run()) == {"a": 0}
    assert list(run.warnings) == []


def test_complete_jobs_are_deleted() -> None:
    run = simulation(nodes(4, 1), job("a", 2, 1, 5), pod(1, name="lone", annotations={RUN_TIME: "5m"}))
    run.run()
    cluster = run.virtual_cluster.cluster
    assert (cluster.pods.all(), dict(cluster.groups)) == ([], {})


def test_simulation_ends_at_until() -> None:
    measured = simulate(nodes(4, 1), job("a", 1, 4, 30), job("b", 1, 4, 30, after=1), until=20)
    assert (minutes(measured.end), ends(measured)) == (20, {"a": None, "b": None})
    assert starts(measured) == {"a": 0, "b": None}


def test_job_that_never_starts_has_a_reason() -> None:
    run = simulation(nodes(4, 1), job("a", 1, 5, 30))
    run.run()
    assert run.why_waiting("default/a") == ["a pod requests cpu 5, but the largest node has cpu 4"]


def test_simulation_is_deterministic() -> None:
    virtual_cluster = [
        nodes(4, 3),
        [job(f"j{n:02}", 1 + n % 3, 1 + n % 4, 5 + n % 7, after=1 + n % 5) for n in range(30)],
    ]
    first, second = (report_of(simulate(*virtual_cluster)) for _ in range(2))
    assert first == second
    assert first["waits"]["jobs"] == 30


def test_seed_shuffles_equal_nodes_only() -> None:
    virtual_cluster = [nodes(4, 3), job("a", 1, 4, 5), job("b", 2, 4, 5)]
    assert starts(simulate(*virtual_cluster, seed=1)) == starts(simulate(*virtual_cluster, seed=2))


def test_invalid_arrival_is_a_warning() -> None:
    run = simulation(nodes(4, 1), gang(1, 1, name="a", annotations={"scheduling.stromboli.dev/arrives-after": "noon"}))
    run.run()
    assert list(run.warnings) == [
        "Pod default/a-task-0: metadata.annotations[scheduling.stromboli.dev/arrives-after]: 'noon' is not a duration; "
        "write one such as 90s, 30m or 1h30m; ignored"
    ]


# -- evictions --------------------------------------------------------------------------------------------------------


def owned(manifests: list[Any]) -> list[Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "maker", "uid": "maker", "controller": True}
    for each in manifests:
        if each["kind"] == "Pod":
            each["metadata"]["ownerReferences"] = [owner]
    return manifests


def urgent() -> list[Any]:
    return [priority_class("high", 9), *job("urgent", 1, 4, 10, after=5, priority="high")]


def test_evicted_pod_of_a_controller_is_recreated_and_starts_over() -> None:
    low = owned(job("low", 1, 4, 30))
    measured = simulate(nodes(4, 1), low, urgent(), conf=PREEMPTING)
    record = measured.jobs["default/low"]
    assert (record.evictions, record.lost, minutes(record.started)) == (1, 0, 0)
    began = minutes(measured.jobs["default/urgent"].started)
    assert began is not None
    assert 5 < began < 6
    assert minutes(record.ended) == pytest.approx(began + 10 + 30, abs=0.1)


def test_evicted_pod_without_controller_is_lost() -> None:
    measured = simulate(nodes(4, 1), job("low", 1, 4, 30), urgent(), conf=PREEMPTING)
    record = measured.jobs["default/low"]
    assert (record.evictions, record.lost, record.ended) == (1, 1, None)
    assert [line.what for line in measured.timeline if line.job == "default/low"] == ["arrives", "starts", "evicted"]


def test_reclaim_restores_deserved_shares() -> None:
    ours = [each for n in range(4) for each in owned(job(f"ours-{n}", 1, 1, 60, queue="ours"))]
    theirs = [job(f"theirs-{n}", 1, 1, 60, after=10, queue="theirs") for n in range(2)]
    measured = simulate(nodes(4, 1), queue("ours"), queue("theirs"), ours, theirs, conf=RECLAIMING, until=30)
    began = starts(measured)
    assert all(10 <= (began[f"theirs-{n}"] or 0) < 11 for n in range(2))
    _, shares = measured.mean_use(measured.start + 15 * 60, measured.end)
    assert {name: share["cpu"] for name, share in shares.items()} == {"ours": 0.5, "theirs": 0.5}


# -- measurements -----------------------------------------------------------------------------------------------------


def test_usage_is_weighted_by_time() -> None:
    measured = simulate(node("a", 4), job("a", 1, 4, 10), job("b", 1, 2, 10, after=10))
    used, queues = measured.mean_use(measured.start, measured.end)
    assert (minutes(measured.end), used["cpu"], queues["default"]["cpu"]) == (20, 0.75, 0.75)
    assert measured.mean_use(measured.start, measured.start + 600)[0]["cpu"] == 1.0
    assert measured.used_hours()["default"]["cpu"] == pytest.approx(4 / 6 + 2 / 6)


def test_report_has_all_measurements() -> None:
    report = report_of(simulate(node("a", 4), job("a", 1, 4, 10), job("b", 1, 4, 10, after=4)))
    assert report["waits"] == {"jobs": 2, "mean": 180.0, "median": 0.0, "p95": 360.0, "max": 360.0}
    assert report["utilisation"]["mean"]["cpu"] == 1.0
    assert [line["what"] for line in report["timeline"]] == ["arrives", "starts", "arrives", "ends", "starts", "ends"]
    assert (report["start"], report["end"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:20:00Z")
    assert report["jobs"]["default/b"] == {
        "queue": "default", "minMember": 1, "pods": 1, "arrived": "2026-01-01T00:04:00Z",
        "started": "2026-01-01T00:10:00Z", "ended": "2026-01-01T00:20:00Z", "reserved": None, "waited": 360.0,
        "evictions": 0, "lost": 0, "reasons": [],
    }  # fmt: skip
    assert len(report["utilisation"]["overTime"]) == 24
