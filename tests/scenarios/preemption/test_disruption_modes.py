"""Native groups with the disruption mode `all`: every action evicts all their pods, or none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_plugins import probe
from tests.testing.manifests.builders import (
    Facts,
    Manifest,
    budget,
    gang,
    manifest,
    node,
    nodes,
    pod,
    priority_class,
    queue,
    running,
)
from tests.testing.manifests.node_usage import clock, measured

CLASSES = [priority_class("high", 100), priority_class("low", 10)]
QUEUES = [queue("mine", weight=1), queue("yours", weight=1)]
ALL: Manifest = {"all": {}}
PREEMPT = configuration("priority", "conformance", "predicates", actions="enqueue, allocate, preempt")
WITH_GANG = configuration("priority", "gang", "conformance", "predicates", actions="enqueue, allocate, preempt")
GANG_PREEMPT = configuration("priority", "gang", "conformance", "predicates", actions="enqueue, allocate, gangpreempt")
RECLAIM = configuration("gang", "conformance", "predicates", "proportion", actions="enqueue, allocate, reclaim")
GANG_RECLAIM = configuration(
    "gang", "conformance", "predicates", "proportion", actions="enqueue, allocate, gangreclaim"
)
CONSOLIDATE = configuration("gang", "conformance", "predicates", actions="enqueue, allocate, consolidate")
ZONE, SOFT = "volcano.sh/revocable-zone", {"volcano.sh/preemptable": "true"}
UNEVEN = [nodes(4, 2), measured("a", "3900m"), measured("b", 0)]
THRESHOLDS = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}
STRATEGIES = [{"name": "lowNodeUtilization", "params": THRESHOLDS}]
HOURS = plugin("tdm", {"tdm.revocable-zone.z": "08:00-18:00"})
SHUFFLE = "enqueue, allocate, shuffle"
BALANCE = configuration("gang", "predicates", plugin("rescheduling", {"strategies": STRATEGIES}), actions=SHUFFLE)
EVENING = clock("2026-03-01T19:00:00Z")
BOTH = ["train-0", "train-1"]


def train(
    places: str, mode: Any = ALL, minimum: int = 1, cpu: object = 2, name: str = "train", **facts: Any
) -> list[Manifest]:
    """A running native group that could do with one pod."""
    version = "v1alpha2" if isinstance(mode, str) else "v1beta1"
    spec = {"schedulingPolicy": {"gang": {"minCount": minimum}}, "priorityClassName": "low", "disruptionMode": mode}
    spec = {field: value for field, value in spec.items() if value is not None}
    notes = {"scheduling.volcano.sh/queue-name": facts.pop("queue", "default"), **facts.pop("notes", {})}
    metadata = {"annotations": notes}
    group = manifest("PodGroup", name, f"scheduling.k8s.io/{version}", "default", spec=spec, metadata=metadata)
    shared = {"schedulingGroup": {"podGroupName": name}, "priorityClassName": "low", **facts}
    members = [pod(cpu, name=f"{name}-{number}", nodeName=place, **shared) for number, place in enumerate(places)]
    for each in members:
        each["metadata"]["uid"] = each["metadata"]["name"]
    return [group, *members]


def urgent(count: int = 1, cpu: object = 2, **facts: Any) -> list[Manifest]:
    return gang(count, cpu, name="urgent", priority="high", **facts)


def case(name: str, *world: Any, conf: str = PREEMPT, **more: Any) -> Case:
    return Case(name, CLASSES, *world, conf=conf, **more)


def _first(self: Any, candidates: Any) -> Any:
    return candidates[:1]


ONE_OF_THEM = probe(victim_tasks=_first)
MOVES_ONE: Facts = {"conf": configuration("gang", "predicates", ONE_OF_THEM.name, actions=SHUFFLE),
             "extensions": [ONE_OF_THEM]}  # fmt: skip
PROTECTED = [budget("keep", 1, {"app": "train"})]
LABELS: Facts = {"labels": {"app": "train"}}
BUDGETS = "shuffle: disruption budgets protect 2 pods that should be moved: default/train-0, default/train-1"

MODES = [
    case("all: both pods are evicted for one", nodes(2, 2), train("ab"), urgent(), binds="A", evicts=BOTH),
    case("PodGroup, as v1alpha2 spells it", nodes(2, 2), train("ab", "PodGroup"), urgent(), binds="A", evicts=BOTH),
    case("single: one of them", nodes(2, 2), train("ab", {"single": {}}), urgent(), binds="A", evicts=["train-0"]),
    case("Pod, as v1alpha2 spells it", nodes(2, 2), train("ab", "Pod"), urgent(), binds="A", evicts=["train-0"]),
    case("without a mode one of them", nodes(2, 2), train("ab", None), urgent(), binds="A", evicts=["train-0"]),
]

#: A pod of the group that must stay.
STAYS = pod(2, name="train-1", nodeName="b", annotations={"volcano.sh/preemptable": "false"}, priorityClassName="low",
            schedulingGroup={"podGroupName": "train"})  # fmt: skip

PREEMPTED = [
    case("a single pod elsewhere is cheaper", nodes(2, 3), train("ab"), running("c", 2, priority="low"), urgent(),
         binds="C", evicts=["old-task-0"]),
    case("a budget that allows one eviction protects both", nodes(2, 2), PROTECTED, train("ab", **LABELS), urgent(),
         binds="-"),
    case("a pod that is not preemptable protects the other", nodes(2, 2), train("a"), STAYS, urgent(), binds="-"),
    case("gang allows whole groups", nodes(2, 2), train("ab"), urgent(), binds="A", evicts=BOTH, conf=WITH_GANG),
    case("also at their minimum", nodes(2, 2), train("ab", minimum=2), urgent(), binds="A", evicts=BOTH,
         conf=WITH_GANG),
    case("its own pods do not replace each other", nodes(2, 1), train("a"),
         pod(2, name="train-x", priorityClassName="high", schedulingGroup={"podGroupName": "train"}), binds="-"),
    case("gangpreempt evicts whole groups", nodes(2, 2), train("ab"), urgent(), binds="A", evicts=BOTH,
         conf=GANG_PREEMPT),
    case("reclaim evicts whole groups", QUEUES, nodes(2, 2), train("ab", queue="yours"), gang(1, 2, queue="mine"),
         binds="A", evicts=BOTH, conf=RECLAIM),
    case("gangreclaim evicts whole groups", QUEUES, nodes(2, 2), train("ab", queue="yours"),
         gang(1, 2, queue="mine"), binds="A", evicts=BOTH, conf=GANG_RECLAIM),
]  # fmt: skip

MOVED = [
    case("consolidate moves a whole group", nodes(2, 2), train("ab", cpu=1), urgent(), binds="A", evicts=BOTH,
         conf=CONSOLIDATE),
    case("and a single pod of other groups", nodes(2, 2), train("ab", {"single": {}}, cpu=1), urgent(), binds="A",
         evicts=["train-0"], conf=CONSOLIDATE),
    case("shuffle evicts the others with a selected pod", nodes(2, 2), train("ab"), binds="", evicts=BOTH,
         **MOVES_ONE),
    case("unless a budget protects one of them", nodes(2, 2), PROTECTED, train("ab", **LABELS), binds="",
         warnings=[BUDGETS], **MOVES_ONE),
    case("rescheduling leaves them where they are", UNEVEN, train("aa"), binds="", conf=BALANCE),
    case("and moves pods of other groups", UNEVEN, train("aa", {"single": {}}), binds="", evicts=["train-1"],
         conf=BALANCE),
    case("tdm evicts all of them at the end of the hours", EVENING, [node("a", 2, labels={ZONE: "z"}), node("b", 2)],
         train("ab", notes=SOFT), binds="", evicts=BOTH,
         conf=configuration("gang", "predicates", HOURS, actions=SHUFFLE)),
    case("or none, within a smaller disruption budget", EVENING, [node("a", 2, labels={ZONE: "z"}), node("b", 2)],
         train("ab", notes={**SOFT, "volcano.sh/jdb-max-unavailable": "1"}), binds="",
         conf=configuration("gang", "predicates", HOURS, actions=SHUFFLE)),
    case("stalegang evicts what is left of a broken group", nodes(2, 2), train("ab", minimum=3), binds="",
         evicts=BOTH, conf=configuration("gang", "predicates", actions="enqueue, allocate, stalegang",
                                         arguments={"stalegang": {"gracePeriod": "0s"}})),
]  # fmt: skip


@pytest.mark.parametrize("case", [*MODES, *PREEMPTED, *MOVED], ids=str)
def test_groups_are_disrupted_as_their_mode_states(case: Case) -> None:
    case.check()
