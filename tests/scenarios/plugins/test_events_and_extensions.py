"""What custom plugins can rely on: notifications, per-task state, and answers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Event, Plugin
from stromboli.core.config.rule_adapters import NodeView, PerNodeOrder, PerNodePredicate
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.resources.resources import CPU
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.session.session import Session
from tests.testing.cases import probe_plugins
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.cases.probe_plugins import probe
from tests.testing.manifests.builders import Facts, gang, gang_of, node, nodes, pod, running

WITH_PROBE = configuration("gang", "predicates", "probe")


def extended(name: str, *world: Any, by: type[Plugin], conf: str = WITH_PROBE, **expected: Any) -> Case:
    return Case(name, *world, conf=conf, extensions=(*PROBE_ACTIONS, by), **expected)


# -- events -------------------------------------------------------------------------------------------------------


class Recorder(Plugin):
    """Records its notifications."""

    name = "probe"

    def open(self, session: Session) -> None:
        self.reported: Counter[tuple[str, str]] = Counter()
        self.nodes: set[str] = set()

    def on_allocate(self, event: Event) -> None:
        self._note(event, 1)

    def on_deallocate(self, event: Event) -> None:
        self._note(event, -1)

    def _note(self, event: Event, sign: int) -> None:
        self.nodes |= set(event.nodes)
        for task, place in zip(event.tasks, event.nodes, strict=True):
            self.reported[task.name, place] += sign


PARTS = [{"matchLabelKeys": ["part"], "subGroupSize": 2, "minSubGroups": 1}]
#: A case, and what remains of all notifications: the pods on nodes, and the pods that were removed.
BALANCES = [
    ("a gang that is placed", [nodes(4, 1), gang(2)], {("gang-task-0", "a"): 1, ("gang-task-1", "a"): 1}),
    ("a gang that is given up", [nodes(4, 1), gang(3, cpu=2)], {}),
    ("a gang of several sizes that is given up", [nodes(4, 1), gang_of(pod(1), pod(2), pod(3))], {}),
    ("a pipelined pod", [node("a", 1), running("a", releasing=True), gang(1)], {("gang-task-0", "a"): 1}),
    (
        "parts that were tried and placed",
        [nodes(2, 1), gang_of(*(pod(labels={"part": part}) for part in "0011"), minimum=2, policies=PARTS)],
        {("gang-task-0", "a"): 1, ("gang-task-1", "a"): 1},
    ),
    ("racks that were tried without success", [nodes(1, 2), gang(2, topology={"mode": "hard"})], {}),
]  # fmt: skip


class RecorderOfRacks(Recorder, probe_plugins.RacksForJobs):
    """Also defines racks that are tried one by one."""

    def open(self, session: Session) -> None:
        Recorder.open(self, session)
        probe_plugins.RacksForJobs.open(self, session)


@pytest.mark.parametrize(("world", "left"), [each[1:] for each in BALANCES], ids=[each[0] for each in BALANCES])
def test_every_operation_and_rollback_is_notified(world: list[Any], left: dict[tuple[str, str], int]) -> None:
    recorder = recorder_after(extended("", world, by=RecorderOfRacks, binds=""))
    assert {entry: count for entry, count in recorder.reported.items() if count} == left
    assert recorder.nodes


def test_eviction_is_reported() -> None:
    conf = configuration("gang", "probe", actions="evict-preemptable")
    recorder = recorder_after(extended("", nodes(1, 1), running("a"), gang(1), by=Recorder, conf=conf, binds="-"))
    assert recorder.reported == {("old-task-0", "a"): -1}


def recorder_after(case: Case) -> Recorder:
    recorder = case.plan().session.program.plugins["probe"]
    assert isinstance(recorder, Recorder)
    return recorder


# -- what travels with a decision ---------------------------------------------------------------------------------


def test_gang_members_are_bound_together_with_annotations() -> None:
    world = [nodes(4, 2), gang_of(pod(3), pod(2), name="first"), gang(1, name="second")]
    plan = extended("", world, by=probe_plugins.Annotating, binds="").plan()
    assert [
        [(bind.node, bind.annotations["example.com/for"]) for bind in statement]
        for statement in plan.session.decisions.binds
    ] == [[("a", "first-task-0"), ("b", "first-task-1")], [("a", "second-task-0")]]


class Remembering(Plugin):
    """Keeps state about each task from its placement to its binding."""

    name = "probe"

    def open(self, session: Session) -> None:
        self._session = session

    def on_allocate(self, event: Event) -> None:
        for task, place in zip(event.tasks, event.nodes, strict=True):
            self._session.cycle_state(task).setdefault("places", []).append(place)

    def bind_context(self, task: Task, context: dict[str, str]) -> None:
        context["example.com/places"] = ",".join(self._session.cycle_state(task)["places"])


def test_task_state_belongs_to_plugin() -> None:
    plan = extended("", nodes(1, 2), gang(2), by=Remembering, binds="ab").plan()
    [binds] = plan.session.decisions.binds
    assert [bind.annotations["example.com/places"] for bind in binds] == ["a", "b"]


def test_task_state_ends_with_cycle() -> None:
    plan = extended("", nodes(1, 1), gang(2), by=Remembering, binds="--", cycles=3).plan()
    tasks = plan.session.jobs["default/gang"].tasks.values()
    assert [plan.session.cycle_state(task) for task in tasks] == [{"places": ["a"]}, {}]


# -- one node at a time -------------------------------------------------------------------------------------------


class OneByOne(PerNodePredicate, PerNodeOrder, Plugin):
    """Rejects nodes without a label, and prefers those with much cpu in use."""

    name = "probe"

    def filter_node(self, task_class: TaskClass, node: NodeView) -> bool:
        return "disk" in node.facts.labels

    def score_node(self, task_class: TaskClass, node: NodeView) -> float:
        return node.used[CPU] + node.allocatable[CPU] - node.idle[CPU]


class LabelledArguments(Arguments):
    limit: int = Argument("limit", 1, "The largest size that is taken.")


class Labelled(Plugin):
    """Reads a label of pods: pods that differ in it are distinguished."""

    name = "probe"
    reads_labels = ("size",)
    arguments = LabelledArguments()

    def predicate(self, task_class: TaskClass, rows: Rows) -> Mask:
        return np.full(len(rows), int(task_class.labels.get("size", "0")) <= self.arguments.limit)

    def predicate_reason(self, task_class: TaskClass) -> str:
        return f"node(s) take nothing above {self.arguments.limit}"


DISK = {"disk": "ssd"}

ANSWERS = [
    extended("a predicate for one node at a time", node("a"), node("b", labels=DISK), gang(1), by=OneByOne, binds="b"),
    extended(
        "a score for one node at a time",
        nodes(4, 2, labels=DISK), running("b"), gang(2), by=OneByOne, binds="bb",
    ),
    extended(
        "the message of a refusal",
        nodes(4, 2), gang(1), by=OneByOne, binds="-", codes={"gang": ["PluginRefused"]},
        reasons={"gang": ["0/2 nodes are available: 2 node(s) were refused by probe."]},
    ),
    extended(
        "pods by a label, with a message of its own",
        nodes(4, 1), gang_of(pod(labels={"size": "1"}), pod(labels={"size": "2"}), minimum=1), by=Labelled, binds="a-",
        reasons={"gang": ["0/1 nodes are available: 1 node(s) take nothing above 1."]},
    ),
    extended(
        "an argument of its own",
        nodes(4, 1), gang(1, labels={"size": "2"}), by=Labelled, binds="a",
        conf=configuration("gang", plugin("probe", {"limit": 2})),
    ),
    extended(
        "one answer for all nodes",
        nodes(4, 1), gang(1), binds="-", by=probe(predicate=lambda self, task_class, rows: False),
    ),
    extended(
        "a node that was not a candidate is not taken",
        nodes(4, 2), gang(1), binds="a", by=probe(best_node=lambda self, task, scores: "z"),
    ),
]  # fmt: skip

RACKED: Facts = {"topology": {"mode": "hard", "highestTierAllowed": 1}}

RACKS = [
    extended("a gang stays within one rack", nodes(2, 2), gang(2, **RACKED), by=probe_plugins.RacksForJobs, binds="bb"),
    extended(
        "the next rack, where the first is too small",
        node("a", 2), node("b", 1), gang(2, **RACKED), by=probe_plugins.RacksForJobs, binds="aa",
    ),
    extended("no rack is large enough", nodes(2, 2), gang(3, **RACKED), by=probe_plugins.RacksForJobs, binds="---"),
    extended("a pod without the label is placed anywhere", nodes(2, 2), gang(3), by=probe_plugins.RacksForJobs,
             binds="aab"),
    extended("of several racks the better", nodes(2, 2), gang(2, **RACKED), by=probe_plugins.RacksInOrder, binds="bb"),
    extended(
        "each sub-group in a rack of its own",
        nodes(2, 2), gang_of(*(pod(labels={"part": part}) for part in "0011"), policies=PARTS),
        by=probe_plugins.RacksForSubJobs, binds="bbaa",
    ),
    extended(
        "a rack in which pods are terminating",
        node("a", 1), node("b", 2), running("bb", releasing=True), gang(2, **RACKED), by=probe_plugins.RacksForJobs,
        binds="BB",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS + RACKS, ids=str)
def test_answers_of_custom_plugins(case: Case) -> None:
    case.check()


def test_short_reason_has_the_text_of_the_plugin() -> None:
    case = extended("", nodes(4, 2), gang(1, labels={"size": "2"}), by=Labelled, binds="-")
    assert case.plan().groups["default/gang"].summary == "2 nodes: take nothing above 1"
