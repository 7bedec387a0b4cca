"""A started pod is protected for its minimum run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.manifests.builders import (
    Manifest,
    gang,
    gang_of,
    namespace,
    nodes,
    pod,
    priority_class,
    queue,
    running,
)

PREEMPT, RECLAIM = "scheduling.stromboli.dev/preempt-min-runtime", "scheduling.stromboli.dev/reclaim-min-runtime"
CLASSES = [priority_class("high", 9), priority_class("low", 1)]


def at(clock: str) -> str:
    return f"2026-03-01T{clock}:00Z"


NOON = {**namespace("clock"), "metadata": {"name": "clock", "uid": "clock", "creationTimestamp": at("12:00")}}


def standing(places: str = "a", since: str = "11:50", *, minimum: int = 1, **facts: Any) -> list[Manifest]:
    """A job whose pods got their nodes at this time."""
    return running(places, placed=at(since), minimum=minimum, **facts)


def own(places: str = "a", since: str = "11:50", **facts: Any) -> list[Manifest]:
    return standing(places, since, **{"name": "old", "priority": "low", **facts})


def preempts(
    name: str, *world: Any, evicts: str = "", binds: str, given: Mapping[str, object] | None = None, **more: Any
) -> Case:
    """Victims at noon of a more important job of the same queue."""
    keeping = plugin("gang", enablePreemptable=False, enableJobStarving=False)
    conf = configuration(
        ["priority", keeping, plugin("minruntime", given)], ["predicates"],
        actions="enqueue, allocate, preempt",
    )  # fmt: skip
    return Case(name, NOON, CLASSES, world, conf=conf, evicts=evicts.split(), binds=binds, **more)


def urgent(count: int = 1, cpu: object = 1, **facts: Any) -> Any:
    return gang(count, cpu, name="urgent", priority="high", **facts)


def protecting(**annotations: str) -> Manifest:
    """Annotations of a queue."""
    keys = {"preempt": PREEMPT, "reclaim": RECLAIM}
    return {"annotations": {keys[key]: value for key, value in annotations.items()}}


HOUR, MINUTE = {"defaultPreemptMinRuntime": "1h"}, {"defaultPreemptMinRuntime": "1m"}
MINE = queue("mine", **protecting(preempt="1h"))
SENSE = "is not a duration; write one such as 90s, 30m or 1h30m; it is ignored"

WITHIN = [
    preempts("without the annotation no pod is protected", nodes(1, 1), own(), urgent(), evicts="old-task-0",
             binds="A"),
    preempts("a newly started pod stays", nodes(1, 1), own(), urgent(), given=HOUR, binds="-",
             codes={"urgent": ["InsufficientResource", "NoPreemptablePods"]}),
    preempts("after its time it may be evicted", nodes(1, 1), own(), urgent(), given=MINUTE, evicts="old-task-0",
             binds="A"),
    preempts("to the second", nodes(1, 1), own(), urgent(), given={"defaultPreemptMinRuntime": "10m"},
             evicts="old-task-0", binds="A"),
    preempts("a moment before", nodes(1, 1), own(), urgent(), given={"defaultPreemptMinRuntime": "10m1s"}, binds="-"),
    preempts("another pod is evicted instead", nodes(1, 2), own("a"), own("b", "09:00", name="aged"), urgent(),
             given=HOUR,
             evicts="aged-task-0", binds="B"),
    preempts("the time between queues is another one", nodes(1, 1), own(), urgent(),
             given={"defaultReclaimMinRuntime": "1h"}, evicts="old-task-0", binds="A"),
    preempts("the annotation of the queue itself counts", nodes(1, 1), MINE, own(queue="mine"), urgent(queue="mine"),
             binds="-"),
    preempts("and overrides the default", nodes(1, 1), queue("mine", **protecting(preempt="1m")),
             own(queue="mine"), urgent(queue="mine"), given=HOUR, evicts="old-task-0", binds="A"),
    preempts("also when it disables the protection", nodes(1, 1), queue("mine", **protecting(preempt="0s")),
             own(queue="mine"), urgent(queue="mine"), given=HOUR, evicts="old-task-0", binds="A"),
    preempts("the annotation of a queue holds for that queue only", nodes(1, 1), MINE, queue("other"),
             own(queue="other"),
             urgent(queue="other"), evicts="old-task-0", binds="A"),
    preempts("queues without the annotation inherit from their parent", nodes(1, 1),
             queue("above", **protecting(preempt="1h")),
             queue("mine", parent="above"), own(queue="mine"), urgent(queue="mine"), binds="-"),
    preempts("the nearest annotation counts", nodes(1, 1), queue("above", **protecting(preempt="1h")),
             queue("mine", parent="above", **protecting(preempt="1m")), own(queue="mine"), urgent(queue="mine"),
             evicts="old-task-0", binds="A"),
    preempts("the annotation of the root holds for all", nodes(1, 1), queue("root", **protecting(preempt="1h")), own(),
             urgent(),
             binds="-"),
    preempts("a whole gang is protected", nodes(1, 2), own("ab", minimum=2), urgent(), given=HOUR, binds="-"),
    preempts("members above the minimum are not", nodes(1, 2), own("ab", minimum=1), urgent(), given=HOUR,
             evicts="old-task-1", binds="B"),
    preempts("but the minimum is", nodes(1, 2), own("ab", minimum=1), urgent(2), given=HOUR, binds="--"),
    preempts("one member stays where there is no minimum", nodes(1, 2), own("ab", minimum=0), urgent(2), given=HOUR,
             binds="--"),
    preempts("and others may be evicted", nodes(1, 2), own("ab", minimum=0), urgent(), given=HOUR, evicts="old-task-1",
             binds="B"),
    preempts("so are those that a role can do without", nodes(1, 3),
             gang_of(pod(nodeName="a", role="ps", placed=at("11:50")), pod(nodeName="b", role="ps", placed=at("11:50")),
                     pod(nodeName="c", role="worker", placed=at("11:50")), name="old", minimum=2, priority="low",
                     minimums={"ps": 1, "worker": 1}, phase="Running"),
             urgent(), given=HOUR, evicts="old-ps-1", binds="B"),
    preempts("a gang has worked since its first member came", nodes(1, 2),
             gang_of(pod(nodeName="a", placed=at("09:00")), pod(nodeName="b", placed=at("11:50")), name="old",
                     priority="low", phase="Running"),
             urgent(), given=HOUR, evicts="old-task-0 old-task-1", binds="B"),
    preempts("the start time is unknown", nodes(1, 1), running("a", minimum=1, priority="low"), urgent(), given=HOUR,
             evicts="old-task-0", binds="A"),
    preempts("a member may take the place of another one of its job", nodes(1, 1),
             gang_of(pod(nodeName="a", placed=at("11:50"), priority=1), pod(priority=7), minimum=1, phase="Running"),
             given=HOUR, evicts="gang-task-0", binds="A"),
    preempts("an invalid annotation is ignored", nodes(1, 1), queue("mine", **protecting(preempt="soon")),
             own(queue="mine"), urgent(queue="mine"), evicts="old-task-0", binds="A",
             warnings=[f"Queue mine: annotation {PREEMPT}: 'soon' {SENSE}"]),
    preempts("and the parent's annotation counts", nodes(1, 1), queue("above", **protecting(preempt="1h")),
             queue("mine", parent="above", **protecting(preempt="soon")), own(queue="mine"), urgent(queue="mine"),
             binds="-",
             warnings=[f"Queue mine: annotation {PREEMPT}: 'soon' {SENSE}"]),
]  # fmt: skip


def reclaims(
    name: str, *queues: Manifest, stays: bool, victim: str = "rich", preemptor: str = "poor",
    given: Mapping[str, object] | None = None, warnings: Sequence[str] = (),
) -> Case:  # fmt: skip
    """Whether a pod that has run for ten minutes stays when another queue reclaims."""
    conf = configuration("conformance", plugin("minruntime", given), actions="evict-reclaimable")
    return Case(
        name, NOON, nodes(1, 1), queues, standing(queue=victim), gang(1, name="late", queue=preemptor), conf=conf,
        evicts=[] if stays else ["old-task-0"], binds="-", extensions=PROBE_ACTIONS, warnings=warnings,
    )  # fmt: skip


RICH, POOR = queue("rich"), queue("poor")
CIRCLE = "Queue {}: spec.parent: the queue is its own ancestor; the queue hangs below the root"
OWN_QUEUE = {"reclaimResolveMethod": "queue"}
#: Two departments with a team each, and one with two.
TEAMS = [queue("east"), queue("west"), queue("poor", parent="west")]

BETWEEN = [
    reclaims("without the annotation the pod is evicted", RICH, POOR, stays=False),
    reclaims("the default", RICH, POOR, given={"defaultReclaimMinRuntime": "1h"}, stays=True),
    reclaims("not the default within queues", RICH, POOR, given=HOUR, stays=False),
    reclaims("the annotation of the victim's queue counts", queue("rich", **protecting(reclaim="1h")), POOR,
             stays=True),
    reclaims("not that of the preemptor's", RICH, queue("poor", **protecting(reclaim="1h")), stays=False),
    reclaims("between departments the annotation of the department counts", *TEAMS,
             queue("rich", parent="east", **protecting(reclaim="1h")),
             stays=False),
    reclaims("and protects its pods", queue("east", **protecting(reclaim="1h")), queue("west"),
             queue("poor", parent="west"),
             queue("rich", parent="east", **protecting(reclaim="1m")), stays=True),
    reclaims("the annotation of the team, if so configured", *TEAMS,
             queue("rich", parent="east", **protecting(reclaim="1h")),
             given=OWN_QUEUE, stays=True),
    reclaims("within a department the annotation of the team counts", queue("west", **protecting(reclaim="1m")),
             queue("poor", parent="west"),
             queue("rich", parent="west", **protecting(reclaim="1h")), stays=True),
    reclaims("and then the department", queue("west", **protecting(reclaim="1h")), queue("poor", parent="west"),
             queue("rich", parent="west"), stays=True),
    reclaims("departments without the annotation inherit from the root", queue("root", **protecting(reclaim="1h")),
             *TEAMS,
             queue("rich", parent="east"), stays=True),
    reclaims("a queue above the preemptor's is looked up itself", queue("east", **protecting(reclaim="1h")),
             queue("poor", parent="east"), victim="east", stays=True),
    reclaims("a queue below the preemptor's is looked up, too", POOR,
             queue("rich", parent="poor", **protecting(reclaim="1h")),
             stays=True),
    reclaims("a circle of queues is no trap", queue("rich", parent="rings"), queue("rings", parent="rich"), POOR,
             stays=False, warnings=[CIRCLE.format("rich"), CIRCLE.format("rings")]),
]  # fmt: skip


@pytest.mark.parametrize("case", WITHIN, ids=str)
def test_within_a_queue(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", BETWEEN, ids=str)
def test_between_queues(case: Case) -> None:
    case.check()


def asked(name: str, *tiers: Any, by: str, evicts: str = "") -> Case:
    conf = configuration(*tiers, actions=by)
    world = NOON, CLASSES, nodes(1, 1), own(), gang(1, name="late", priority="high")
    return Case(name, *world, conf=conf, evicts=evicts.split(), binds="-", extensions=PROBE_ACTIONS)


WHATEVER = [
    asked("gang preemption checks it as well", plugin("minruntime", HOUR), by="evict-for-preemption"),
    asked("and is rejected", plugin("minruntime", MINUTE), by="evict-for-preemption", evicts="old-task-0"),
    asked("in a tier below", ["priority"], [plugin("minruntime", HOUR)], by="evict-preemptable"),
    asked("in a tier above", [plugin("minruntime", HOUR)], ["priority"], by="evict-preemptable"),
    asked("switched off", ["priority"], [plugin("minruntime", HOUR, enablePreemptable=False)], by="evict-preemptable",
          evicts="old-task-0"),
]  # fmt: skip


@pytest.mark.parametrize("case", WHATEVER, ids=str)
def test_victim_rules_by_action(case: Case) -> None:
    case.check()


def test_failed_preemptor_reports_what_stopped_it() -> None:
    plan = preempts("", nodes(1, 1), own(), urgent(), given=HOUR, binds="").plan()
    reported = "minruntime protects 1 (default/old-task-0: PodGroup default/old has run for 600 s and is left alone for"
    assert [reason for reason in plan.groups["default/urgent"].reasons if reported in reason]
