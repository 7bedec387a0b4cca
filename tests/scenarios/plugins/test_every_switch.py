"""Every extension point has an effect, and so does every switch, in both spellings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from stromboli.core.config.extension_points import BY_NAME, EXTENSION_POINTS, HIERARCHY_SWITCH, OFF_BY_DEFAULT, SWITCHES
from stromboli.core.config.plugin import Plugin
from stromboli.planner.plan import SchedulingPlan
from tests.testing.cases import probe_plugins
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.cases.probe_plugins import NO, by_letter, probe
from tests.testing.manifests.builders import Facts, gang, gang_of, node, nodes, pod, priority_class, queue, running


class Row:
    """An extension point, a plugin that answers it, and the result with the answer (`on`) and without it (`off`)."""

    def __init__(
        self,
        point: str,
        *world: Any,
        by: str | type[Plugin],
        on: str,
        off: str,
        beside: Sequence[str] = ("gang",),
        actions: str = "enqueue, allocate, backfill",
        switch: str | None = None,
        given: Mapping[str, bool] | None = None,
    ) -> None:
        self.point = point
        self.switch = switch or (BY_NAME[point].switch if point in BY_NAME else None)
        self.name, extensions = (by, ()) if isinstance(by, str) else (by.name, (by,))
        self.beside = beside
        self.actions = actions
        self.given = dict(given or {})
        self.on, self.off = on.replace(" ", ""), off.replace(" ", "")
        self.case = Case(point, *world, binds="", extensions=(*PROBE_ACTIONS, *extensions))

    def __str__(self) -> str:
        return f"{self.point} by {self.switch}"

    def listed(self, **switches: bool) -> str:
        """The result with the plugin listed and these switches set."""
        return self._outcome(plugin(self.name, None, **{**self.given, **switches}))

    def not_listed(self) -> str:
        return self._outcome()

    def _outcome(self, *plugins: Any) -> str:
        plan = self.case.plan(configuration(*self.beside, *plugins, actions=self.actions))
        return self.case.binds(plan) + evicted(plan) + annotated(plan)


def evicted(plan: SchedulingPlan) -> str:
    return "".join(f",evicts:{key.partition('/')[2]}" for key in plan.evictions)


def annotated(plan: SchedulingPlan) -> str:
    binds = (bind for statement in plan.session.decisions.binds for bind in statement)
    return "".join(f",{key}:{value}" for bind in binds for key, value in bind.annotations.items())


ONE, TWO = nodes(1, 1), nodes(1, 2)
FIRST, SECOND = gang(1, name="first"), gang(1, name="second")
HIGH = priority_class("high", 9)
LEAVING = [node("a", 2), running("a", cpu=2, releasing=True)]
IN_RACKS: Facts = {"topology": {"mode": "hard", "highestTierAllowed": 1}}
EVICTED = ",evicts:old-task-0"


def parts(text: str, *, size: int, least: int, minimum: int | None = None) -> Any:
    """A gang of sub-groups: a pod for each figure of the text, which is its sub-group and its priority."""
    members = [pod(labels={"part": part}, priority=int(part)) for part in text]
    policy = {"matchLabelKeys": ["part"], "subGroupSize": size, "minSubGroups": least}
    return gang_of(*members, minimum=minimum, policies=[policy])


ORDER = [
    Row("job_order", ONE, HIGH, FIRST, gang(1, name="second", priority="high"), by="priority", on="-a", off="a-"),
    Row("sub_job_order", ONE, parts("01", size=1, least=1, minimum=1), by="priority", on="-a", off="a-"),
    Row("task_order", ONE, gang_of(pod(), pod(priority=7), minimum=1), by="priority", on="-a", off="a-"),
    Row(
        "queue_order", ONE, queue("left"), queue("right", priority=5), gang(1, name="first", queue="left"),
        gang(1, name="second", queue="right"), by="proportion", given={"enabledAllocatable": False}, on="-a", off="a-",
    ),
    Row(
        "victim_queue_order", TWO, queue("left"), queue("right"), running("a", name="one", queue="left"),
        running("b", name="two", queue="right"), FIRST, actions="evict-first",
        by=probe(victim_queue_order=lambda self, queue, preemptor: queue.name), on="-,evicts:one-task-0",
        off="-,evicts:two-task-0",
    ),
]  # fmt: skip

READINESS = [
    Row(
        "job_valid", TWO, FIRST, SECOND, on="-a", off="ab",
        by=probe(job_valid=lambda self, job: NO if job.spec.name == "first" else None),
    ),
    Row("job_enqueueable", ONE, gang(1, resources={"cpu": 9}), by="overcommit", on="-", off="a"),
    Row("job_enqueued", ONE, FIRST, by=probe_plugins.NotifiedOfEnqueue, on="-", off="a"),
    Row("job_ready", ONE, gang(2), by="gang", beside=["predicates"], on="--", off="a-"),
    Row(
        "tasks_until_ready", nodes(2, 1), gang(2, name="first", minimum=0), gang(2, name="second", minimum=0),
        by=probe_plugins.Pairs, beside=["drf"], on="aa --", off="a- a-",
    ),
    Row("sub_job_ready", ONE, parts("00", size=2, least=0, minimum=1), by="gang", beside=[], on="--", off="a-"),
    Row("job_pipelined", LEAVING, gang(2, cpu=2), by="gang", beside=[], on="--", off="A-"),
    Row(
        "sub_job_pipelined", ONE, running("a", releasing=True), parts("00", size=2, least=0, minimum=1), by="gang",
        beside=[], on="--", off="A-",
    ),
    Row(
        "job_starving", ONE, running("a"), FIRST, by="gang", beside=[], actions="evict-for-starving", on=f"-{EVICTED}",
        off="-",
    ),
]  # fmt: skip

LEFT = queue("left", capability={"cpu": 1, "pods": 1})

QUEUES = [
    Row(
        "overused", nodes(2, 1), LEFT, running("a", queue="left"), gang(1, queue="left"), by="proportion",
        given={"enabledAllocatable": False}, on="-", off="a",
    ),
    Row(
        "allocatable", nodes(2, 1), LEFT, gang(2, minimum=0, queue="left"), by="proportion",
        given={"enabledOverused": False}, on="a-", off="aa",
    ),
    Row("preemptive", ONE, running("a"), FIRST, by="proportion", actions="evict-for-queue", on="-", off=f"-{EVICTED}"),
]  # fmt: skip

VICTIMS = [
    Row(
        "preemptable", ONE, running("a"), FIRST, by="gang", beside=[], actions="evict-preemptable", on=f"-{EVICTED}",
        off="-",
    ),
    Row(
        "reclaimable", ONE, running("a"), FIRST, by="gang", beside=[], actions="evict-reclaimable", on=f"-{EVICTED}",
        off="-",
    ),
    Row(
        "evictable", ONE, running("a"), FIRST, by="conformance", beside=[], actions="evict-for-reclaim",
        on=f"-{EVICTED}", off="-",
    ),
    Row(
        "victim_tasks", TWO, running("ab"), FIRST, by=probe(victim_tasks=lambda self, candidates: candidates[:1]),
        actions="evict-victims", on=f"-{EVICTED}", off="-",
    ),
]  # fmt: skip

NODES = [
    Row("pre_predicate", ONE, FIRST, by=probe(pre_predicate=lambda self, task_class: NO), on="-", off="a"),
    Row("predicate", ONE, gang(1, nodeSelector={"disk": "ssd"}), by="predicates", on="-", off="a"),
    Row("node_order", TWO, FIRST, by=probe(node_order=lambda self, task_class, rows: by_letter(rows)), on="b", off="a"),
    Row(
        "batch_node_order", TWO, FIRST, on="b", off="a",
        by=probe(batch_node_order=lambda self, task_class, rows, candidates: by_letter(rows)),
    ),
    Row("node_map", TWO, FIRST, by=probe(node_map=lambda self, task_class, rows: by_letter(rows)), on="b", off="a"),
    Row("node_reduce", nodes(1, 3), FIRST, by=probe_plugins.MapAndReduce, on="b", off="a"),
    Row("best_node", TWO, FIRST, by=probe(best_node=lambda self, task, scores: max(scores)), on="b", off="a"),
    Row("hyper_node_order", TWO, gang(1, **IN_RACKS), by=probe_plugins.RacksInOrder, on="b", off="a"),
    Row("hyper_node_gradient_for_job", TWO, gang(1, **IN_RACKS), by=probe_plugins.RacksForJobs, on="b", off="a"),
    Row(
        "hyper_node_gradient_for_sub_job", TWO, parts("0", size=1, least=1), by=probe_plugins.RacksForSubJobs,
        on="b", off="a",
    ),
]  # fmt: skip


EVENTS = [
    Row("on_allocate", nodes(4, 1), FIRST, SECOND, by=probe_plugins.NotifiedOfAllocation, on="a-", off="aa"),
    Row(
        "on_deallocate", nodes(4, 1), gang(2, cpu=3, name="first"), SECOND, by=probe_plugins.NotifiedOfDeallocation,
        on="-- -", off="-- a",
    ),
    Row("bind_context", ONE, FIRST, by=probe_plugins.Annotating, on="a,example.com/for:first-task-0", off="a"),
]  # fmt: skip

TREE = [
    Row(
        "hierarchy", nodes(2, 1), queue("left"), queue("right"), gang(2, minimum=0, name="first", queue="left"),
        gang(2, minimum=0, name="second", queue="right"), by="drf", switch=HIERARCHY_SWITCH, on="a- a-", off="aa --",
    ),
]  # fmt: skip

ROWS = [*ORDER, *READINESS, *QUEUES, *VICTIMS, *NODES, *EVENTS, *TREE]
SWITCHED = [(row, spelling) for row in ROWS if row.switch for spelling, name in SWITCHES.items() if name == row.switch]


@pytest.mark.parametrize(
    ("row", "spelling"), SWITCHED, ids=[f"{row.point} by {spelling}" for row, spelling in SWITCHED]
)
def test_switch_alone_decides(row: Row, spelling: str) -> None:
    assert (row.listed(**{spelling: True}), row.listed(**{spelling: False})) == (row.on, row.off)


@pytest.mark.parametrize("row", [row for row in ROWS if row.switch], ids=str)
def test_switch_that_is_absent(row: Row) -> None:
    assert row.listed() == (row.off if row.switch in OFF_BY_DEFAULT else row.on)


@pytest.mark.parametrize("row", [row for row in ROWS if not row.switch], ids=str)
def test_plugin_alone_decides_without_switch(row: Row) -> None:
    assert (row.listed(), row.not_listed()) == (row.on, row.off)


def test_every_extension_point_and_switch_has_a_row() -> None:
    assert {point.name for point in EXTENSION_POINTS} <= {row.point for row in ROWS}
    assert {spelling for _, spelling in SWITCHED} == set(SWITCHES)
    assert all(row.on != row.off for row in ROWS)


def test_every_switch_of_every_extension_point_has_a_row() -> None:
    declared = {(point.name, point.switch) for point in EXTENSION_POINTS}
    assert declared <= {(row.point, row.switch) for row in ROWS}
