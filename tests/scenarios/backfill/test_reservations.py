"""Backfill with a strategy: a waiting job has a reservation, and others may fill the gap before it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, Tier, configuration
from tests.testing.manifests.builders import (
    Manifest,
    foreign,
    gang,
    gang_of,
    node,
    nodes,
    pod,
    priority_class,
    queue,
    running,
)

NOON = "2026-01-01T12:00:00Z"
RUN_TIME = "scheduling.stromboli.dev/run-time"
WAITS_ON_CPU = "0/1 nodes are available: 1 Insufficient cpu."
KEPT = "0/1 nodes are available: 1 node(s) had capacity nominated for other pods."
AWAY_FROM_WEB = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "host"}
        ]
    }
}
PORT = [{"containerPort": 80, "hostPort": 80}]


def strategy(name: str, *plugins: str | Manifest | Tier, actions: str = "allocate, backfill", **more: Any) -> str:
    arguments = {"backfill": {"strategy": name, **more}}
    return configuration(*(plugins or ("gang", "predicates")), actions=actions, arguments=arguments)


EASY, CONSERVATIVE = strategy("easy"), strategy("conservative")


def declared(run_time: str | None, facts: dict[str, Any]) -> dict[str, Any]:
    return {**facts, "annotations": {RUN_TIME: run_time}} if run_time else facts


def busy(places: str, cpu: object, left: str | None, *, name: str = "busy", **facts: Any) -> list[Manifest]:
    """Pods that run since noon, which is now, and end after this time; never without one."""
    return running(places, cpu, name=name, placed=NOON, **declared(left, facts))


def job(name: str, count: int, cpu: object, run_time: str | None = None, **facts: Any) -> Any:
    """A gang that arrived at noon. Of those that came together the first by name is served first."""
    return gang(count, cpu, name=name, created=NOON, **declared(run_time, facts))


#: A node of four, half of it used for an hour; the first job needs all of it.
HALF = [*nodes(4, 1), *busy("a", 2, "1h")]
HEAD = job("a-head", 1, 4, "1h")

EASY_CASES = [
    Case("no job is held back by default", HALF, HEAD, job("b", 1, 2), binds="- a"),
    Case(
        "nor when the strategy is spelled out", HALF, HEAD, job("b", 1, 2), conf=strategy("best-effort"), binds="- a"
    ),
    Case(
        "a job without a run time does not overtake the first job",
        HALF, HEAD, job("b", 1, 2), conf=EASY, binds="- -",
        reasons={
            "a-head": ["capacity on 1 node(s) is reserved for it from 2026-01-01T13:00:00Z", WAITS_ON_CPU],
            "b": [
                "capacity that it needs is reserved for default/a-head from 2026-01-01T13:00:00Z, and it has no "
                "run time",
                KEPT,
            ],
        },
        codes={"a-head": ["StartReserved", "InsufficientResource"], "b": ["CapacityReserved", "CapacityNominated"]},
    ),
    Case("a job that ends before the reservation may fill the gap", HALF, HEAD, job("b", 1, 2, "30m"), conf=EASY,
         binds="- a"),
    Case("to the second", HALF, HEAD, job("b", 1, 2, "1h"), conf=EASY, binds="- a"),
    Case(
        "and not a second longer",
        HALF, HEAD, job("b", 1, 2, "1h1s"), conf=EASY, binds="- -",
        reasons={
            "b": [
                "capacity that it needs is reserved for default/a-head from 2026-01-01T13:00:00Z, and it would run "
                "until "
                "2026-01-01T13:00:01Z",
                KEPT,
            ]
        },
    ),
    Case("the deadline of a pod counts, too", HALF, HEAD, job("b", 1, 2, activeDeadlineSeconds=1800), conf=EASY,
         binds="- a"),
    Case("the shorter one does: the deadline", HALF, HEAD, job("b", 1, 2, "9h", activeDeadlineSeconds=1800), conf=EASY,
         binds="- a"),
    Case("the shorter one does: the annotation", HALF, HEAD, job("b", 1, 2, "30m", activeDeadlineSeconds=90000),
         conf=EASY, binds="- a"),
    Case(
        "an unreadable run time counts as absent, with a warning",
        HALF, HEAD, job("b", 1, 2, "half an hour"), conf=EASY, binds="- -",
        warnings=[
            f"Pod default/b-task-0: metadata.annotations[{RUN_TIME}]: 'half an hour' is not a duration; write one such "
            "as 90s, 30m or 1h30m; annotation ignored"
        ],
    ),
    Case(
        "the deadline counts beside what cannot be read",
        HALF, HEAD, job("b", 1, 2, "0s", activeDeadlineSeconds=60), conf=EASY, binds="- a",
        warnings=[
            f"Pod default/b-task-0: metadata.annotations[{RUN_TIME}]: '0s' is not between 0 and 100 years; "
            "annotation ignored"
        ],
    ),
    Case(
        "all pods of a job must have ended",
        nodes(4, 1), busy("a", 2, "1h"), HEAD,
        gang_of(pod(1, annotations={RUN_TIME: "1m"}), pod(1, annotations={RUN_TIME: "9h"}), name="b", created=NOON),
        conf=EASY, binds="- --",
    ),
    Case(
        "another node is not touched", nodes(4, 2), busy("ab", 2, "1h"), busy("b", 1, None, name="ever"), HEAD,
        job("b", 1, 1), conf=EASY, binds="- b",
    ),
    Case(
        "nor is what the node has beside the reservation",
        nodes(8, 1), busy("a", 2, "1h"), busy("a", 2, None, name="ever"), job("a-head", 1, 5, "1h"), job("b", 1, 1),
        job("c", 1, 1), conf=EASY, binds="- a -",
    ),
    Case(
        "a pod that never ends supports no reservation: the next jobs are served",
        nodes(4, 1), busy("a", 2, None), HEAD, job("b", 1, 2), conf=EASY, binds="- a",
        reasons={"a-head": [WAITS_ON_CPU]},
    ),
    Case(
        "the first node that will be free, not the one that never will",
        nodes(4, 2), busy("a", 2, None), busy("b", 2, "2h", name="other"), HEAD, job("b", 1, 2), job("c", 1, 2),
        conf=EASY, binds="- a -",
    ),
    Case(
        "pods of other schedulers run indefinitely",
        nodes(4, 1), foreign("a", 2, activeDeadlineSeconds=60), HEAD, job("b", 1, 2), conf=EASY, binds="- a",
    ),
    Case(
        "a pod that exceeds its run time ends soon",
        nodes(4, 1), running("a", 2, name="late", placed="2026-01-01T10:00:00Z", annotations={RUN_TIME: "1h"}), HEAD,
        job("b", 1, 2, "1m"), job("c", 1, 1, "2m"), conf=EASY, binds="- a -",
        reasons={"a-head": ["capacity on 1 node(s) is reserved for it from 2026-01-01T12:01:00Z", WAITS_ON_CPU]},
    ),
    Case(
        "an unknown start time counts as now",
        nodes(4, 1), running("a", 2, name="old", annotations={RUN_TIME: "1h"}), HEAD, job("b", 1, 2, "59m"), conf=EASY,
        binds="- a",
    ),
    Case("two fill one hole", HALF, HEAD, job("b", 1, 1, "30m"), job("c", 1, 1, "20m"), conf=EASY, binds="- a a"),
    Case(
        "and the third finds it full",
        HALF, HEAD, job("b", 1, 1, "30m"), job("c", 1, 1, "20m"), job("d", 1, 1, "1m"), conf=EASY, binds="- a a -",
        reasons={"d": [WAITS_ON_CPU]},
    ),
    Case(
        "a gang fills a hole whole or not at all",
        nodes(4, 2), busy("ab", 2, "1h"), job("a-head", 2, 4, "1h"), job("b", 2, 2, "30m"), job("c", 1, 1, "30m"),
        conf=EASY, binds="-- ab -",
    ),
    Case(
        "the head is a gang: it starts when the last of its nodes is free",
        nodes(4, 2), busy("a", 4, "1h"), busy("b", 2, "2h", name="other"), job("a-head", 2, 4, "1h"),
        job("b", 1, 2, "90m"), job("c", 1, 1, "3h"), conf=EASY, binds="-- b -",
        reasons={
            "a-head": [
                "capacity on 2 node(s) is reserved for it from 2026-01-01T14:00:00Z",
                "0/2 nodes are available: 2 Insufficient cpu.",
            ]
        },
    ),
    Case(
        "only as much is reserved as it must have to start",
        nodes(4, 2), busy("a", 2, "1h"), busy("b", 1, None, name="ever"), job("a-head", 3, 4, "1h", minimum=1),
        job("b", 1, 3), conf=EASY, binds="--- b",
    ),
    Case(
        "filters apply to the reservation: it is where the job may run",
        node("a", 4), node("b", 4, labels={"disk": "ssd"}), busy("ab", 2, "1h"),
        job("a-head", 1, 4, "1h", nodeSelector={"disk": "ssd"}), job("b", 1, 2), job("c", 1, 2), conf=EASY,
        binds="- a -",
    ),
    Case(
        "a job with anti-affinity gets the time when the others are gone",
        node("a", 4, labels={"host": "a"}), busy("a", 1, "1h", labels={"app": "web"}), busy("a", 1, "2h", name="other"),
        job("a-head", 1, 1, "1h", affinity=AWAY_FROM_WEB), job("b", 1, 2, "30m"), job("c", 1, 2, "3h"), conf=EASY,
        binds="- a -",
        reasons={
            "a-head": [
                "capacity on 1 node(s) is reserved for it from 2026-01-01T13:00:00Z",
                "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.",
            ]
        },
    ),
    Case(
        "sub-groups have their times together",
        nodes(2, 2), busy("a", 2, "1h"), busy("b", 1, "2h", name="other"),
        gang_of(*(pod(1, labels={"part": part}, annotations={RUN_TIME: "1h"}) for part in "0011"), name="a-head",
                created=NOON, policies=[{"name": "part", "matchLabelKeys": ["part"], "subGroupSize": 2,
                                         "minSubGroups": 2}]),
        job("b", 1, 1, "2h"), job("c", 1, 1, "3h"), conf=EASY, binds="---- b -",
        codes={"c": ["InsufficientResource"]},
    ),
    Case(
        "the deadline of a role is that of its pods",
        nodes(4, 1), busy("a", 4, "1h"),
        gang_of(pod(3, role="driver"), pod(1, role="worker"), name="a-head", created=NOON,
                minimums={"driver": 1, "worker": 1}),
        job("b", 1, 1, "1m"), conf=EASY, binds="-- -",
        codes={"b": ["InsufficientResource"]},
    ),
    Case(
        "no reservation on a node that could not take the pod if it were empty",
        HALF, job("a-head", 1, 5, "1h"), job("b", 1, 2), conf=EASY, binds="- a",
    ),
    Case(
        "a job that waits for its queue has no reservation",
        nodes(4, 1), queue("small", capability={"cpu": 1}), busy("a", 2, "1h"),
        job("a-head", 1, 2, "1h", queue="small"), job("b", 1, 1),
        conf=strategy("easy", "gang", "proportion", "predicates"),
        binds="- a",
    ),
    Case(
        "a job of another queue respects the reservation as well",
        nodes(4, 1), queue("one"), queue("two"), busy("a", 2, "1h", queue="one"),
        job("a-head", 1, 4, "1h", queue="one"), job("b", 1, 2, queue="two"), conf=EASY, binds="- -",
    ),
    Case(
        "capacity that is being released is pipelined as before",
        nodes(4, 1), running("a", 4, name="leaving", releasing=True), HEAD, job("b", 1, 2), conf=EASY, binds="A -",
        reasons={"a-head": ["1 task will start once the pods that are being released are gone"]},
    ),
    Case(
        "a job that runs grows only beside the reservation",
        nodes(4, 1), busy("a", 2, "1h"), HEAD, job("b", 3, 1, "2h", minimum=0), job("c", 2, 1, "1h", minimum=0),
        conf=EASY, binds="- --- aa",
    ),
    Case("pods without a request are placed anywhere", HALF, HEAD, job("b", 1, 0), conf=EASY, binds="- a"),
    Case(
        "a pod with a host port does not use reserved nodes",
        nodes(8, 2), busy("a", 4, "1h"), busy("b", 4, None, name="ever"), job("a-head", 1, 6, "1h"),
        job("b", 1, 1, ports=PORT), job("c", 1, 1), conf=EASY, binds="- b a",
    ),
    Case(
        "the next cycle keeps the reservation",
        HALF, HEAD, job("b", 1, 1, "30m"), job("c", 1, 1), conf=EASY, cycles=3, binds="- a -",
        reasons={"a-head": ["capacity on 1 node(s) is reserved for it from 2026-01-01T13:00:00Z", WAITS_ON_CPU]},
    ),
    Case(
        "by priority: the first job is the one that is served first",
        HALF, priority_class("high", 9), job("a", 1, 2), job("z-head", 1, 4, "1h", priority="high"),
        conf=strategy("easy", "gang", "priority", "predicates"), binds="- -",
        codes={"a": ["CapacityReserved", "CapacityNominated"], "z-head": ["StartReserved", "InsufficientResource"]},
    ),
    Case("without the action nothing is reserved", HALF, HEAD, job("b", 1, 2), binds="- a",
         conf=configuration("gang", "predicates", actions="allocate")),
]  # fmt: skip

#: The second job needs three after the first has ended.
SECOND = job("b-second", 1, 3, "1h")

CONSERVATIVE_CASES = [
    Case(
        "easy: the second job has no reservation, and the third may delay it",
        nodes(4, 2), busy("ab", 3, "1h"), HEAD, job("b-second", 1, 4, "1h"), job("c", 1, 1), conf=EASY, binds="- - b",
    ),
    Case(
        "conservative: it is, and the third waits",
        nodes(4, 2), busy("ab", 3, "1h"), HEAD, job("b-second", 1, 4, "1h"), job("c", 1, 1), conf=CONSERVATIVE,
        binds="- - -", codes={"c": ["StartReserved", "CapacityReserved", "CapacityNominated"]},
    ),
    Case(
        "every job has a start time",
        HALF, HEAD, SECOND, job("c", 1, 1, "3h"), conf=CONSERVATIVE, binds="- - -",
        reasons={
            "a-head": ["capacity on 1 node(s) is reserved for it from 2026-01-01T13:00:00Z", WAITS_ON_CPU],
            "b-second": ["capacity on 1 node(s) is reserved for it from 2026-01-01T14:00:00Z", WAITS_ON_CPU],
            "c": [
                "capacity on 1 node(s) is reserved for it from 2026-01-01T14:00:00Z",
                "capacity that it needs is reserved for default/a-head from 2026-01-01T13:00:00Z, and it would run "
                "until "
                "2026-01-01T15:00:00Z",
                KEPT,
            ],
        },
    ),
    Case(
        "a job that ends before the first reservation overtakes all of them",
        HALF, HEAD, SECOND, job("c", 1, 2, "1h"), conf=CONSERVATIVE, binds="- - a",
    ),
    Case(
        "a later job has its time between two others",
        nodes(4, 1), busy("a", 4, "1h"), job("a-head", 1, 2, "1h"), job("b", 1, 4, "1h"), job("c", 1, 2, "1h"),
        conf=CONSERVATIVE, binds="- - -",
        reasons={
            "b": ["capacity on 1 node(s) is reserved for it from 2026-01-01T14:00:00Z", WAITS_ON_CPU],
            "c": ["capacity on 1 node(s) is reserved for it from 2026-01-01T13:00:00Z", WAITS_ON_CPU],
        },
    ),
    Case(
        "a job that never ends keeps its capacity indefinitely",
        nodes(4, 1), busy("a", 4, "1h"), job("a-head", 1, 2), job("b", 1, 4, "1h"), job("c", 1, 2), conf=CONSERVATIVE,
        binds="- - -",
        reasons={
            "b": [WAITS_ON_CPU],
            "c": ["capacity on 1 node(s) is reserved for it from 2026-01-01T13:00:00Z", WAITS_ON_CPU],
        },
    ),
    Case(
        "the number of reservations is limited",
        nodes(4, 2), busy("ab", 3, "1h"), HEAD, job("b-second", 1, 4, "1h"), job("c", 1, 1),
        conf=strategy("conservative", maxReservations=1), binds="- - b",
    ),
    Case(
        "the reservation is the same in two cycles",
        HALF, HEAD, SECOND, job("c", 1, 1, "3h"), conf=CONSERVATIVE, cycles=3, binds="- - -",
        codes={"c": ["StartReserved", "CapacityReserved", "CapacityNominated"]},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", [*EASY_CASES, *CONSERVATIVE_CASES], ids=str)
def test_reservations(case: Case) -> None:
    case.check()
