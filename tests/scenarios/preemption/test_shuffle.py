"""Pods that plugins want to move are evicted, without a preemptor."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.core.config.configuration import ConfigurationError
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_plugins import probe
from tests.testing.manifests.builders import (
    Facts,
    budget,
    gang,
    gang_of,
    node,
    nodes,
    pod,
    priority_class,
    queue,
    running,
)
from tests.testing.manifests.node_usage import NOON, clock, measured

ZONE = "volcano.sh/revocable-zone"
PREEMPTABLE = "volcano.sh/preemptable"
ACTIONS = "enqueue, allocate, backfill, shuffle"
SOFT: Facts = {"notes": {PREEMPTABLE: "true", "volcano.sh/jdb-min-available": "0"}}
WEB = {"app": "web"}
GUARANTEED = {"name": "main", "resources": {"limits": {"cpu": 4, "memory": "1Gi"}}}
#: A node whose zone is open by day, at noon and in the evening.
LENT = node("a", 9, labels={ZONE: "z"})
EVENING = clock("2026-03-01T19:00:00Z")


def allow_all(self: Any, candidates: Any) -> Any:
    return candidates


MOVES_ALL = probe(victim_tasks=allow_all)


def zones(*beside: Any, **switches: bool) -> str:
    own = plugin("tdm", {"tdm.revocable-zone.z": "08:00-18:00"}, **switches)
    return configuration("gang", "predicates", own, *beside, actions=ACTIONS)


def moving_all(*beside: Any, actions: str = ACTIONS) -> dict[str, Any]:
    """A plugin that moves every pod."""
    return {"conf": configuration("gang", "predicates", MOVES_ALL.name, *beside, actions=actions),
            "extensions": [MOVES_ALL]}  # fmt: skip


SHUFFLE = [
    Case("without a named victim no pod is evicted", nodes(4, 1), running("aa"), binds="",
         conf=configuration("gang", "predicates", actions=ACTIONS)),
    Case("a named victim is evicted", nodes(4, 1), running("aa"), binds="", evicts=["old-task-0", "old-task-1"],
         **moving_all()),
    Case("without the action no plugin is called", nodes(4, 1), running("aa"), binds="",
         **moving_all(actions="allocate")),
    Case("only running pods", nodes(4, 1), gang_of(pod(nodeName="a", phase="Pending"), name="bound", phase="Running"),
         gang(1), binds="a", **moving_all()),
    Case("not terminating pods", nodes(4, 1), running("a", releasing=True), binds="", **moving_all()),
    Case("no more than a budget allows", nodes(4, 1), running("aaa", labels=WEB), budget("web", 2, WEB),
         binds="", evicts=["old-task-1", "old-task-2"],
         warnings=["shuffle: disruption budgets protect 1 pod that should be moved: default/old-task-0"],
         **moving_all()),
    Case("an exhausted budget protects all of them", nodes(4, 1), running("aa", labels=WEB), budget("web", 0, WEB),
         binds="",
         warnings=["shuffle: disruption budgets protect 2 pods that should be moved: default/old-task-1, "
                   "default/old-task-0"], **moving_all()),
    Case("with the plugin pdb as well", nodes(4, 1), running("aaa", labels=WEB), budget("web", 2, WEB), binds="",
         evicts=["old-task-1", "old-task-2"], **moving_all("pdb")),
    Case("a budget is spent once in a cycle", nodes(1, 2), priority_class("high", 9),
         running("a", labels=WEB, name="low"), running("b", labels=WEB, name="other", priority="high"),
         budget("web", 1, WEB), gang(1, name="claims", priority="high"),
         evicts=["low-task-0"], binds="A",
         warnings=["shuffle: disruption budgets protect 1 pod that should be moved: default/other-task-0"],
         conf=configuration(["priority", "gang"], ["predicates", MOVES_ALL.name], actions="allocate, preempt, shuffle"),
         extensions=[MOVES_ALL]),
    Case("critical pods stay", nodes(4, 1), running("a", namespace="kube-system"), binds="",
         **moving_all("conformance")),
    Case("without that plugin they do not", nodes(4, 1), running("a", namespace="kube-system"), binds="",
         evicts=["old-task-0"], **moving_all()),
    Case("a newly placed pod is protected", clock(), nodes(4, 1),
         running("a", annotations={"volcano.sh/cooldown-time": "10m"}, placed="2026-03-01T11:55:00Z"), binds="",
         **moving_all("cdp")),
    Case("the switch of the question", nodes(4, 1), running("a"), binds="",
         conf=configuration("gang", "predicates", plugin(MOVES_ALL.name, enabledVictim=False), actions=ACTIONS),
         extensions=[MOVES_ALL]),
]  # fmt: skip

LENDING = [
    Case("pods leave a node after its time window", EVENING, LENT, running("aa", **SOFT), conf=zones(), binds="",
         evicts=["old-task-0", "old-task-1"]),
    Case("not before", clock(), LENT, running("aa", **SOFT), conf=zones(), binds=""),
    Case("as many as their job can spare", EVENING, LENT, running("aaa", notes={PREEMPTABLE: "true"}), conf=zones(),
         binds="", evicts=["old-task-2"]),
    Case("a few in each period", EVENING, LENT, running("aaa", notes={PREEMPTABLE: "true"}), conf=zones(), cycles=3,
         binds="", evicts=["old-task-2"]),
    Case("budgets count for them, too", EVENING, LENT, running("aa", labels=WEB, **SOFT), budget("web", 1, WEB),
         conf=zones(), binds="", evicts=["old-task-1"],
         warnings=["shuffle: disruption budgets protect 1 pod that should be moved: default/old-task-0"]),
    Case("the capacity is not used in the same cycle", EVENING, LENT, running("a", cpu=9, **SOFT),
         gang(1, cpu=9, annotations={ZONE: "*"}), conf=zones(), binds="-", evicts=["old-task-0"]),
    Case("the switch", EVENING, LENT, running("aa", **SOFT), conf=zones(enabledVictim=False), binds=""),
]  # fmt: skip

TEN = [node(name, 10, "100Gi", labels={"kubernetes.io/hostname": name}) for name in "abc"]
UNKNOWN = "rescheduling: no usage metrics of the last 5m for {} nodes; they are not rescheduled"


def balancing(low: Any = None, high: Any = None, *, beside: Any = ("gang", "predicates"), **given: Any) -> str:
    """Nodes below 20 % are underutilized, nodes above 50 % overutilized, by default."""
    params = {"thresholds": low or {"cpu": 20, "memory": 20}, "targetThresholds": high or {"cpu": 50, "memory": 50}}
    switches = given.pop("switches", {})
    arguments = {"strategies": [{"name": "lowNodeUtilization", "params": params}], **given}
    return configuration(*beside, plugin("rescheduling", arguments, **switches), actions=ACTIONS)


def load(text: str, *, memory: str = "0", at: str = NOON) -> list[Any]:
    """The measured cpu of nodes a, b, c, ... in tenths, and the measured memory of node a."""
    figures = zip("abc", text, (memory, "0", "0"), strict=False)
    return [measured(name, int(tenths), used, at=at) for name, tenths, used in figures]


def busy(
    name: str, *world: Any, evicts: str = "", loads: str = "911", memory: str = "0", conf: str | None = None,
    also: Any = (), **more: Any,
) -> Case:  # fmt: skip
    """Victims among the pods of the group `old`."""
    conf = conf or balancing()
    gone = [f"old-task-{number}" for number in evicts]
    return Case(name, TEN, load(loads, memory=memory), world, also, conf=conf, **{"binds": "", "evicts": gone, **more})


def apart(app: str) -> Any:
    """Pods with anti-affinity to the pods of an application."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


BALANCE = [
    busy("pods leave a busy node until it is busy no more", running("aaaaaa"), evicts="2345"),
    busy("a node that is not busy keeps its pods", running("aaa"), loads="511"),
    busy("there must be one with little to do", running("aaa"), loads="922"),
    busy("one is enough", running("aa", cpu=2), loads="915", evicts="01"),
    busy("all have little to do", running("aaa"), loads="111"),
    busy("memory alone makes a node busy", running("aa", memory="20Gi"), loads="111", memory="90Gi", evicts="01"),
    busy("so do pods", node("x", 4, pods=4), measured("x", 0), running("xxx"),
         conf=balancing(low={"cpu": 20, "pods": 20}, high={"pods": 50}), evicts="2"),
    busy("a resource without threshold makes no node busy", running("aaa"),
         conf=balancing(high={"memory": 95})),
    busy("without a lower threshold all nodes are below it", running("aaaaaa"), conf=balancing(low={"cpu": 20}),
         evicts="2345"),
    busy("the busiest node first", running("abbb", cpu=4), loads="791", evicts="3",
         conf=balancing(low={"cpu": 20}, high={"cpu": 60})),
    busy("not more than the other nodes can take", running("aaaaaaaa"), loads="900",
         conf=balancing(low={"cpu": 20}, high={"cpu": 15}), evicts="567"),
    busy("a less important pod is evicted first", priority_class("low", -9), running("aa", name="kept", cpu=4),
         running("a", cpu=4, priorityClassName="low"), evicts="0"),
    busy("of equals one without guaranteed QoS", running("a", cpu=4), evicts="0",
         also=gang_of(pod(0, nodeName="a", containers=[GUARANTEED]), name="kept", minimum=0, phase="Running")),
    busy("and before them one without a request", measured("a", "5050m"), running("a", cpu=4, name="kept"),
         running("a", containers=[{"name": "main"}]), evicts="0"),
    busy("no gang is broken", running("aaaa", minimum=4)),
    busy("it gives what it can spare", running("aaaa", minimum=3), evicts="3"),
    busy("a job of one pod is evicted whole", running("a", minimum=1, cpu=4), evicts="0"),
    busy("no pod is evicted that would find no place", running("aa", nodeSelector={"disk": "ssd"})),
    busy("nor one that fits nowhere", running("aa"), running("bbbb", name="large", cpu="2400m"),
         running("cccc", name="big", cpu="2400m")),
    busy("nor one with anti-affinity to what runs there", running("aa", **apart("web")),
         running("bc", name="web", labels=WEB)),
    busy("critical pods stay", running("a", namespace="kube-system")),
    busy("as do critical ones", priority_class("system-node-critical", 9),
         running("a", priorityClassName="system-node-critical")),
    busy("a node that rejects every pod is no target", node("b", 10, cordoned=True), node("c", 10, ready=False),
         running("aa"), loads="911"),
    busy("only of some queues", queue("batch"), running("aa", cpu=4, queue="batch", name="old"),
         running("a", name="kept"), conf=balancing(queueSelector=["batch"]), evicts="1"),
    busy("only with some labels", running("aaa", name="kept"), running("aa", cpu=2, labels={"team": "x"}),
         conf=balancing(labelSelector={"team": "x"}), evicts="01"),
    busy("the switch", running("aaaaaa"), conf=balancing(switches={"enabledVictim": False})),
    busy("without a strategy nothing is done", running("aaaaaa"),
         conf=configuration("gang", "predicates", "rescheduling", actions=ACTIONS)),
    busy("budgets count", running("aaaaaa", labels=WEB), budget("web", 1, WEB), evicts="5",
         warnings=["shuffle: disruption budgets protect 3 pods that should be moved: default/old-task-4, "
                   "default/old-task-3, default/old-task-2"]),
    busy("as Volcano's documentation nests it", running("aaaaaa"), evicts="2345", conf=configuration(
        "gang", "predicates", plugin("rescheduling", {"strategies": [{"name": "lowNodeUtilization", "params": {
            "nodeResourceUtilizationThresholds": {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}}}]}),
        actions=ACTIONS)),
]  # fmt: skip

FIGURES = [
    Case("no metrics at all", TEN, running("aaa"), conf=balancing(), binds="",
         warnings=[UNKNOWN.format("3 of 3")]),
    Case("old figures do not count", clock("2026-03-01T12:06:00Z"), TEN, load("911"), running("aaa"), conf=balancing(),
         binds="", warnings=[UNKNOWN.format("3 of 3")]),
    Case("a node without metrics is skipped", TEN, load("91"), running("aaaaaa"), conf=balancing(), binds="",
         evicts=[f"old-task-{number}" for number in "2345"], warnings=[UNKNOWN.format("1 of 3")]),
    Case("the interval limits how often it runs", TEN, load("911"), running("aaaaaa", cpu=1, minimum=5),
         conf=balancing(), cycles=2, binds="", evicts=["old-task-5"]),
]  # fmt: skip


@pytest.mark.parametrize("case", [*SHUFFLE, *LENDING, *BALANCE, *FIGURES], ids=str)
def test_shuffle(case: Case) -> None:
    case.check()


def test_eviction_reports_its_reason() -> None:
    lent = Case("lent", EVENING, LENT, running("a", **SOFT), conf=zones(), binds="").plan()
    assert [*lent.evictions] == ["default/old-task-0"]
    assert lent.evictions["default/old-task-0"].startswith("shuffle: ")
    assert lent.evictions["default/old-task-0"].endswith("selected by tdm")
    moved = busy("moved", running("a", cpu=4, minimum=1)).plan()
    words = "node a uses 90% of its cpu (above 50%); others have little to do"
    assert moved.evictions["default/old-task-0"].endswith(words)


WRONG = [
    ([{"params": {"thresholds": {"cpu": "low"}}}], "entry 1: params: thresholds: cpu: expected a number, got 'low'"),
    (["lowNodeUtilization"], "entry 1: expected a mapping, got 'lowNodeUtilization'"),
]  # fmt: skip


@pytest.mark.parametrize(("strategies", "words"), WRONG, ids=[words for _, words in WRONG])
def test_invalid_strategies_are_rejected(strategies: Any, words: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Case("wrong", binds="", conf=configuration(plugin("rescheduling", {"strategies": strategies}))).plan()
    assert f"argument 'strategies' of plugin 'rescheduling': {words}" in str(raised.value)
