"""Victims that lose the least work since their last checkpoint. It is noon in all cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.jobs.carryover import PastEviction
from stromboli.core.session.program import Program
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, Case, configuration, flattened, objects, plugin
from tests.testing.manifests.builders import (
    Manifest,
    gang,
    gang_of,
    namespace,
    node,
    nodes,
    pod,
    priority_class,
    queue,
    running,
)

INTERVAL = "scheduling.stromboli.dev/checkpoint-interval"
RUN_TIME = "scheduling.stromboli.dev/run-time"
PREEMPTABLE = "volcano.sh/preemptable"
LAST = "scheduling.stromboli.dev/last-checkpoint"


def at(clock: str) -> str:
    return f"2026-03-01T{clock}:00Z"


NOON = {**namespace("clock"), "metadata": {"name": "clock", "uid": "clock", "creationTimestamp": at("12:00")}}
CLASSES = [priority_class("high", 9), priority_class("low", 1)]
ACTIONS = "enqueue, allocate, preempt"
KEPT = plugin("gang", enablePreemptable=False, enableReclaimable=False, enableJobStarving=False)


def works(name: str, places: str, since: str, cpu: int = 1, **facts: Any) -> list[Manifest]:
    """A job that has run since this time; gangs have a minimum of all pods."""
    facts = {"priority": "low", "minimum": len(places), **facts}
    return running(places, cpu, name=name, placed=at(since), created=at(since), **facts)


def urgent(cpu: int = 1, count: int = 1) -> list[Manifest]:
    return gang(count, cpu, name="urgent", priority="high", created=at("11:59"))


def case(name: str, *world: Any, evicts: str, binds: str, order: str = "leastLoss", **more: Any) -> Case:
    conf = configuration(
        ["priority", KEPT], ["predicates"], actions=ACTIONS,
        arguments={"preempt": {"victimOrder": order}},
    )  # fmt: skip
    return Case(name, NOON, CLASSES, world, conf=conf, evicts=evicts.split(), binds=binds, **more)


OLD_AND_YOUNG = [nodes(1, 2), works("old", "a", "09:00", annotations={INTERVAL: "1h"}), works("young", "b", "11:50")]
REPORTED = [nodes(1, 2), works("old", "a", "09:00", annotations={LAST: at("11:58")}), works("young", "b", "11:50")]
#: On node a one job of four processors, on node b four jobs of one, which have worked a little longer each.
ONE_OR_FOUR = [
    nodes(4, 2), works("large", "a", "11:00", 4), [works(f"small-{number}", "b", "10:59") for number in range(4)],
]  # fmt: skip
SAME_NODE = [
    node("a", 8), works("large", "a", "11:00", 4), [works(f"small-{number}", "a", "11:01") for number in range(4)],
]  # fmt: skip

CASES = [
    case("in the order of age the younger job is evicted", *OLD_AND_YOUNG, urgent(), evicts="young-task-0", binds="B",
         order="youngest"),
    case("a job right after a checkpoint has lost nothing", *OLD_AND_YOUNG, urgent(), evicts="old-task-0", binds="A"),
    case("the job reports its last checkpoint", *REPORTED, urgent(), evicts="old-task-0", binds="A"),
    case("without checkpoints the whole run is lost", nodes(1, 2), works("old", "a", "09:00"),
         works("young", "b", "11:50"), urgent(), evicts="young-task-0", binds="B"),
    case("work is time multiplied by resources", nodes(4, 2), works("wide", "a", "11:50", 4),
         works("narrow", "b", "11:30"), works("more", "b", "09:00", 3), urgent(), evicts="narrow-task-0", binds="B"),
    case("one large job loses less than four small ones", *ONE_OR_FOUR, urgent(4), evicts="large-task-0", binds="A"),
    case("four small jobs lose less than a large one", *SAME_NODE, urgent(4),
         evicts="small-0-task-0 small-1-task-0 small-2-task-0 small-3-task-0", binds="A"),
    case("a gang starts again as a whole", nodes(1, 3), works("pair", "ab", "11:40"), works("alone", "c", "11:30"),
         urgent(), evicts="alone-task-0", binds="C"),
    case("a spare member loses its own work alone", nodes(1, 3), works("pair", "ab", "11:40", minimum=1),
         works("alone", "c", "11:30"), urgent(), evicts="pair-task-1", binds="B"),
    case("capacity that is released and not needed costs as well", nodes(8, 2), works("wide", "a", "11:59", 8),
         works("exact", "b", "11:54", 2), works("rest", "b", "09:00", 6), urgent(2), evicts="exact-task-0", binds="B"),
    case("importance counts before lost work", nodes(1, 2), works("old", "a", "09:00"),
         works("young", "b", "11:50", priority=None), urgent(), evicts="young-task-0", binds="B"),
    case("an invalid annotation is ignored", nodes(1, 2), works("old", "a", "09:00", annotations={INTERVAL: "often"}),
         works("young", "b", "11:50"), urgent(), evicts="young-task-0", binds="B",
         warnings=[f"Pod default/old-task-0: metadata.annotations[{INTERVAL}]: 'often' "
                   "is not a duration; write one such as 90s, 30m or 1h30m; annotation ignored"]),
    case("a moment that is none is ignored", nodes(1, 2), works("old", "a", "09:00", annotations={LAST: "lately"}),
         works("young", "b", "11:50"), urgent(), evicts="young-task-0", binds="B",
         warnings=[f"Pod default/old-task-0: metadata.annotations[{LAST}]: 'lately' "
                   "is not a time; write one such as 2026-01-31T12:00:00Z; annotation ignored"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_preempt(case: Case) -> None:
    case.check()


EVERY_HOUR: Mapping[str, Any] = {"annotations": {INTERVAL: "1h"}}


def waits(
    name: str, *world: object, evicts: str = "", binds: str = "-", wait: str = "20m", count: int = 1, **more: Any
) -> Case:
    conf = configuration(
        ["priority", KEPT], ["predicates"], actions=ACTIONS,
        arguments={"preempt": {"victimOrder": "leastLoss", "checkpointWait": wait}},
    )  # fmt: skip
    return Case(name, NOON, CLASSES, world, urgent(count=count), conf=conf, evicts=evicts.split(), binds=binds, **more)


def member(place: str, since: str, **facts: Any) -> Manifest:
    return pod(1, nodeName=place, placed=at(since), **facts)


def stays(place: str, since: str, **facts: Any) -> Manifest:
    """A member that cannot be evicted."""
    return member(place, since, annotations={**facts.get("annotations", {}), PREEMPTABLE: "false"})


def members(*pods: Manifest) -> list[Manifest]:
    """A job of one needed member with further ones."""
    return gang_of(*pods, name="elastic", minimum=1, phase="Running", priority="low")


#: A job that writes checkpoints every hour, the next one after a quarter of an hour.
SOON = works("soon", "a", "09:15", **EVERY_HOUR)
POSTPONED = [
    waits("a preemption waits for a checkpoint that is near", nodes(1, 1), SOON),
    waits("not for one after the wait", nodes(1, 1), SOON, evicts="soon-task-0", binds="A", wait="9m"),
    waits("not if there was one a moment ago", nodes(1, 1), works("done", "a", "09:00", **EVERY_HOUR),
          evicts="done-task-0", binds="A"),
    waits("not for jobs without checkpoints", nodes(1, 1), works("none", "a", "09:10"), evicts="none-task-0",
          binds="A"),
    waits("not if another job loses less now", nodes(1, 2), SOON, works("young", "b", "11:59"), evicts="young-task-0",
          binds="B"),
    waits("but if another loses more now than the wait costs", nodes(1, 2), SOON, works("young", "b", "11:50")),
    waits("a preemption waits for the end of a job that is near", nodes(1, 1),
          works("ending", "a", "09:10", annotations={RUN_TIME: "3h"})),
    waits("not for one that should have ended", nodes(1, 1), works("late", "a", "09:10", annotations={RUN_TIME: "1h"}),
          evicts="late-task-0", binds="A"),
    waits("a gang waits for the checkpoint of its members", nodes(1, 2),
          works("pair", "ab", "09:10", **EVERY_HOUR)),
    waits("a spare member does not wait for the checkpoint of a member that stays", nodes(1, 2),
          members(member("a", "09:00"), stays("b", "09:15", **EVERY_HOUR)), evicts="elastic-task-0", binds="A"),
    waits("each spare member loses its own work", nodes(1, 3),
          members(member("a", "11:46", annotations={INTERVAL: "34m"}), member("b", "11:00"), stays("c", "09:00")),
          count=2, evicts="elastic-task-0 elastic-task-1", binds="A B"),
]  # fmt: skip


@pytest.mark.parametrize("case", POSTPONED, ids=str)
def test_checkpoint_wait(case: Case) -> None:
    case.check()


def test_postponed_preemption_is_explained() -> None:
    reasons = [
        "0/1 nodes are available: 1 Insufficient cpu.",
        "preempt: waits until 2026-03-01T12:15:00Z for a checkpoint or the end of pods of default/soon",
    ]
    waits("", nodes(1, 1), SOON, reasons={"urgent": reasons}).check()


def test_wait_without_the_order_of_least_loss_is_a_warning() -> None:
    arguments = {"preempt": {"checkpointWait": "10m"}}
    conf = configuration(["priority", KEPT], ["predicates"], actions=ACTIONS, arguments=arguments)
    warning = "preempt: checkpointWait has no effect without victimOrder: leastLoss"
    world = [NOON, CLASSES, nodes(1, 1), SOON, urgent()]
    Case("", world, conf=conf, evicts=["soon-task-0"], binds="A", warnings=[warning]).check()


@pytest.mark.parametrize(("order", "evicts", "binds"), [
    ("youngest", ["young-task-0"], "B"), ("leastLoss", ["old-task-0"], "A"),
])  # fmt: skip
@pytest.mark.parametrize("action", ["gangpreempt", "gangreclaim"])
def test_gang_actions_take_the_order_of_victims(action: str, order: str, evicts: list[str], binds: str) -> None:
    conf = configuration(
        ["priority", KEPT], ["proportion", "predicates"], actions=f"allocate, {action}",
        arguments={action: {"victimOrder": order}},
    )  # fmt: skip
    of = "rich" if action == "gangpreempt" else "poor"
    due = gang(1, name="urgent", priority="high", created=at("11:59"), queue=of)
    rich = [works("old", "a", "09:00", queue="rich", **EVERY_HOUR), works("young", "b", "11:50", queue="rich")]
    world = [NOON, CLASSES, nodes(1, 2), queue("rich"), queue("poor"), due, rich]
    Case("", world, conf=conf, evicts=evicts, binds=binds).check()


@dataclass
class HistoryCase:
    name: str
    #: Past evictions of the job that would lose least: 10 minutes, where the other one loses three hours.
    evictions: int
    victim: str
    arguments: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


HISTORIES = [
    HistoryCase("an eviction counts as one more loss of the same size", 16, "young", {"evictionMemory": "1h"}),
    HistoryCase("many evictions make a job expensive", 18, "old", {"evictionMemory": "1h"}),
    HistoryCase("but not after the memory", 18, "young", {"evictionMemory": "10m"}),
    HistoryCase("nor without one", 18, "young"),
    HistoryCase("a job with too many evictions comes last", 1, "old", {"evictionMemory": "1h", "maxEvictions": 1}),
    HistoryCase("one that may be evicted again does not", 1, "young", {"evictionMemory": "1h", "maxEvictions": 2}),
]


@pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
@pytest.mark.parametrize("case", HISTORIES, ids=str)
def test_evictions_of_the_same_job_count(case: HistoryCase, action: str) -> None:
    rules = [plugin("gang", enablePreemptable=False, enableReclaimable=False)], ["priority", "proportion", "predicates"]
    text = configuration(
        *rules, actions=f"allocate, {action}", arguments={action: {"victimOrder": "leastLoss", **case.arguments}}
    )
    due = gang(1, name="urgent", priority="high", created=at("11:59"), queue="rich" if "preempt" in action else "poor")
    world = [NOON, CLASSES, nodes(1, 2), queue("rich"), queue("poor"), due]
    rich = [works("old", "a", "09:00", queue="rich"), works("young", "b", "11:50", queue="rich")]
    cluster = PlannedCluster(objects(flattened([world, rich])), Program(parse_configuration(text, BUILT_IN), BUILT_IN))
    past = [
        PastEviction(f"default/past-{number}", "default/young", "", cluster._now - 1200.0)
        for number in range(case.evictions)
    ]
    cluster._cluster.assumptions.note_evictions(past)
    victims = [eviction.task.job for eviction in cluster.decide().decisions.evictions]
    assert victims == [f"default/{case.victim}"]


@pytest.mark.parametrize(("arguments", "warns"), [
    ({"victimOrder": "leastLoss", "maxEvictions": 1}, True),
    ({"evictionMemory": "1h", "maxEvictions": 1}, True),
    ({"victimOrder": "leastLoss", "evictionMemory": "1h", "maxEvictions": 1}, False),
])  # fmt: skip
def test_limit_of_evictions_without_effect_is_a_warning(arguments: Mapping[str, object], warns: bool) -> None:
    text = configuration(["priority", KEPT], ["predicates"], actions=ACTIONS, arguments={"preempt": arguments})
    world = objects(flattened([NOON, CLASSES, *OLD_AND_YOUNG, urgent()]))
    session = PlannedCluster(world, Program(parse_configuration(text, BUILT_IN), BUILT_IN)).decide()
    warning = "preempt: maxEvictions has no effect without victimOrder: leastLoss and an evictionMemory"
    assert session.warnings == [warning] * warns


def test_reclaim_evicts_the_least_work() -> None:
    conf = configuration(
        [plugin("gang", enableReclaimable=False)], ["proportion", "predicates"], actions="enqueue, allocate, reclaim",
        arguments={"reclaim": {"victimOrder": "leastLoss"}},
    )  # fmt: skip
    world = [nodes(1, 2), queue("rich"), queue("poor"), gang(1, name="late", queue="poor")]
    rich = [works("old", "a", "09:00", queue="rich", annotations={INTERVAL: "1h"})]
    rich += [works("young", "b", "11:50", queue="rich")]
    case = Case("reclaim", NOON, CLASSES, world, rich, conf=conf, evicts=["old-task-0"], binds="A")
    case.check()
