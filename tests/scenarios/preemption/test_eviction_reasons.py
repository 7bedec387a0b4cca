"""Reports of evictions (preemptor, justification, protected pods) and of failed preemptions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from stromboli.core.config.plugin import Plugin, Victims
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.decision_records import EvictionRecord, RuleObjection
from stromboli.planner.plan import SchedulingPlan
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_plugins import probe
from tests.testing.manifests.builders import (
    Facts,
    Manifest,
    budget,
    foreign,
    gang,
    gang_of,
    node,
    nodes,
    pod,
    priority_class,
    running,
)
from tests.testing.manifests.builders import queue as plain_queue

CLASSES = [priority_class("high", 100), priority_class("middle", 50), priority_class("low", 10)]
BROAD = plugin("gang", enablePreemptable=False, enableReclaimable=False)
PREEMPT = configuration("priority", BROAD, "conformance", "predicates", actions="enqueue, allocate, preempt")
KEEPING = configuration("priority", "gang", "conformance", "predicates", actions="enqueue, allocate, preempt")
GUARDED = configuration("priority", BROAD, "pdb", "cdp", "predicates", actions="enqueue, allocate, preempt")
FAIR = configuration(BROAD, "drf", "predicates", actions="enqueue, allocate, preempt")
WEIGHTS = configuration(BROAD, "conformance", "proportion", "predicates", actions="enqueue, allocate, reclaim")
PROMISES = configuration(BROAD, "capacity", "predicates", actions="enqueue, allocate, reclaim")
APP: Facts = {"labels": {"app": "web"}}
NEVER: Facts = {"preemptionPolicy": "Never"}


def low(places: str, name: str = "low", **facts: Any) -> list[Manifest]:
    return running(places, name=name, priority="low", **facts)


def high(count: int = 1, cpu: object = 1, **facts: Any) -> list[Manifest]:
    return gang(count, cpu, name="high", priority="high", **facts)


def queue(name: str, deserved: int | None = None, reclaimable: bool | None = None, **facts: Any) -> Manifest:
    manifest = plain_queue(name, **facts)
    manifest["spec"] |= {} if deserved is None else {"deserved": {"cpu": deserved}}
    manifest["spec"] |= {} if reclaimable is None else {"reclaimable": reclaimable}
    return manifest


class ReportCase:
    """One case. Of the report, the parts that are not None are compared, each as a whole.

    `victims` has, for each victim, the pod that gets its capacity with its node, and the decisive rule with its
    message. `protected` has, by rule, the pods that stay on that node, with the message of the first. `elsewhere` has
    nodes that were not chosen. `stopped` has, by rule, what stopped the last preemptor.
    """

    def __init__(
        self,
        name: str,
        *world: Any,
        conf: str = PREEMPT,
        victims: Mapping[str, tuple[str, str]] | None = None,
        consents: Mapping[str, Sequence[str]] | None = None,
        protected: Mapping[str, tuple[Sequence[str], str]] | None = None,
        elsewhere: Mapping[str, str] | None = None,
        stopped: Mapping[str, tuple[Sequence[str], str]] | None = None,
        cycles: int = 1,
        extensions: Sequence[type[Plugin]] = (),
    ) -> None:
        self.name = name
        self.case = Case(name, CLASSES, world, conf=conf, binds="", cycles=cycles, extensions=extensions)
        self.expected = {
            "victims": victims, "consents": consents, "protected": protected, "elsewhere": elsewhere,
            "stopped": stopped,
        }  # fmt: skip

    def check(self) -> None:
        plan = self.case.plan()
        assert not wrong_comparisons(plan)
        reported = parts_of(plan)
        wanted = {part: expected for part, expected in self.expected.items() if expected is not None}
        assert {part: reported[part] for part in wanted} == wanted, self.name


def short(key: str) -> str:
    return key.removeprefix("default/")


def parts_of(plan: SchedulingPlan) -> dict[str, Any]:
    records = {short(record.pod): record for record in plan.records}
    first = next(iter(records.values()), None)
    refusals = [refusal for reported in plan.refusals.values() for refusal in reported]
    return {
        "victims": {pod: (_receiver(record), _right(record)) for pod, record in records.items()},
        "consents": {pod: [each.plugin for each in record.allowed_by] for pod, record in records.items()},
        "protected": _objections(first.protected if first else ()),
        "elsewhere": {other.node: other.why for other in first.considered} if first else {},
        "stopped": _objections(refusals[-1].objections if refusals else ()),
    }


def wrong_comparisons(plan: SchedulingPlan) -> list[str]:
    """Messages about victims that call a priority lower although it is not, as in `priority 10 < 10`."""
    messages = [each.right for record in plan.records for each in record.allowed_by]
    compared = [(message, re.search(r"(\d+) < (\d+)", message)) for message in messages]
    return [message for message, found in compared if found and int(found[1]) >= int(found[2])]


def _receiver(record: EvictionRecord) -> str:
    return f"{short(record.preemptor_pod)} on {record.preemptor_node}"


def _right(record: EvictionRecord) -> str:
    decisive = record.decisive
    return f"{decisive.plugin}: {decisive.right}" if decisive else ""


def _objections(objections: Sequence[RuleObjection]) -> dict[str, tuple[list[str], str]]:
    return {each.rule: ([short(name) for name in each.objects], each.why) for each in objections}


def allow_all(self: Plugin, preemptor: Task, candidates: Sequence[Task]) -> Victims:
    return list(candidates)


def allow_none(self: Plugin, preemptor: Task, candidates: Sequence[Task]) -> Victims:
    return []


def stumble(self: Plugin, preemptor: Task, victim: Task) -> str:
    raise ValueError("no message")


#: Custom plugins: one without messages, one with messages, and one whose messages raise an error.
SILENT = probe(preemptable=allow_all)
ELOQUENT = probe(
    preemptable=allow_all, justification=lambda self, preemptor, victim: f"{preemptor.name} before {victim.name}"
)
STUMBLING = probe(preemptable=allow_none, veto=stumble)
STRICT = probe(preemptable=allow_none)
GIVING = probe(reclaimable=allow_all)
PROBED = configuration(BROAD, "probe", "predicates", actions="enqueue, allocate, preempt")
RECLAIMING = configuration(BROAD, "probe", "predicates", actions="enqueue, allocate, reclaim")
HOURS = plugin("minruntime", {"defaultPreemptMinRuntime": "1h"})
LENDING = plugin("tdm", {"tdm.revocable-zone.z": "00:00-23:59"})
MARKED: Facts = {"annotations": {"volcano.sh/preemptable": "true"}}

LOWER = "priority: priority 10 < 100"
ENOUGH = "there is enough capacity without it"


VICTIMS = [
    ReportCase(
        "a more important job preempts a less important one",
        nodes(1, 1), low("a"), high(),
        victims={"low-task-0": ("high-task-0 on a", LOWER)},
        consents={"low-task-0": ["priority", "conformance"]}, protected={}, elsewhere={},
    ),
    ReportCase(
        "within a job the priorities of pods count",
        nodes(1, 1),
        gang_of(pod(1, nodeName="a", priorityClassName="low"), pod(1, priorityClassName="high"), minimum=1,
                name="one", phase="Running"),
        conf=configuration("priority", "predicates", actions="allocate, preempt"),
        victims={"one-task-0": ("one-task-1 on a", "priority: priority of the pod 10 < 100")},
    ),
    ReportCase(
        "a pod that is not needed stays",
        nodes(2, 1), low("aa"), high(),
        victims={"low-task-1": ("high-task-0 on a", LOWER)}, protected={"not-needed": (["low-task-0"], ENOUGH)},
    ),
    ReportCase(
        "a more important pod stays, even if it is evictable",
        nodes(2, 1), running("a", name="middle", priority="middle"), low("a"), high(),
        victims={"low-task-0": ("high-task-0 on a", LOWER)},
        protected={"more-important": (["middle-task-0"], "priority 50; less important pods suffice")},
    ),
    ReportCase(
        "an equally important pod is not evicted",
        nodes(2, 1), running("a", name="equal", priority="high"), low("a"), high(),
        protected={"priority": (["equal-task-0"], "priority 100 is not below 100")},
    ),
    ReportCase(
        "a pod of high priority is not evicted",
        nodes(2, 1), low("a", name="critical", priorityClassName="high"), low("a"), high(),
        protected={"priority": (["critical-task-0"], "priority of the pod 100 is not below 100")},
    ),
    ReportCase(
        "a gang that keeps its minimum",
        nodes(2, 1), low("a", name="whole", minimum=1), low("a"), high(), conf=KEEPING,
        victims={"low-task-0": ("high-task-0 on a", LOWER)},
        consents={"low-task-0": ["priority", "gang", "conformance"]},
        protected={"gang": (["whole-task-0"], "PodGroup default/whole has 1 pods and needs 1")},
    ),
    ReportCase(
        "a gang that cannot be evicted whole stays whole",
        nodes(2, 2), gang_of(pod(1, nodeName="a"), pod(1, nodeName="b", labels={"volcano.sh/preemptable": "false"}),
                             name="whole", priority="low", phase="Running"),
        low("a"), running("b", name="equal", priority="high"), high(),
        victims={"low-task-0": ("high-task-0 on a", LOWER)},
        protected={"gang-minimum": (["whole-task-0"],
                                 "PodGroup default/whole has 2 pods and needs 2, and not all may be evicted")},
    ),
    ReportCase(
        "a whole gang is evicted with all its members",
        nodes(1, 2), low("ab", minimum=2), high(),
        victims={"low-task-0": ("high-task-0 on b", LOWER), "low-task-1": ("high-task-0 on b", LOWER)},
    ),
    ReportCase(
        "a critical pod stays",
        nodes(2, 1), low("a", name="vital", priorityClassName="system-node-critical"), low("a"), high(),
        protected={"conformance": (["vital-task-0"], "priority class system-node-critical keeps the cluster alive")},
    ),
    ReportCase(
        "a pod with preemptable false stays",
        nodes(2, 1), low("a", name="mine", labels={"volcano.sh/preemptable": "false"}), low("a"), high(),
        protected={"preemptable-label": (["mine-task-0"], "its label or annotation volcano.sh/preemptable is false")},
    ),
    ReportCase(
        "a pod under a budget stays, with the plugin",
        nodes(2, 1), budget("web", 0, {"app": "web"}), low("a", name="web", **APP), low("a"), high(), conf=GUARDED,
        victims={"low-task-0": ("high-task-0 on a", LOWER)},
        consents={"low-task-0": ["priority", "pdb", "cdp"]},
        protected={"pdb": (["web-task-0"], "disruption budget default/web allows 0 more")},
    ),
    ReportCase(
        "a pod under a budget stays, without the plugin",
        nodes(2, 1), budget("web", 0, {"app": "web"}), low("a", name="web", **APP), low("a"), high(),
        protected={"disruption-budget": (["web-task-0"], "disruption budget default/web allows 0 more")},
    ),
    ReportCase(
        "a newly placed pod is protected",
        nodes(2, 1), low("a", name="young", placed="2026-01-01T00:00:00Z", labels={"volcano.sh/cooldown-time": "600s"}),
        low("a"), gang(1, name="now", priority="high", created="2026-01-01T00:01:00Z"), conf=GUARDED,
        protected={"cdp": (["young-task-0"], "it was placed 60 s ago, and its cool-down time is 600 s")},
    ),
    ReportCase(
        "the smaller share preempts the larger one",
        nodes(4, 1), running("aaaa", name="rich"), gang(1, name="poor"), conf=FAIR,
        victims={"rich-task-3": ("poor-task-0 on a",
                                 "drf: PodGroup default/rich would keep a share of 75%, default/poor would have 25%")},
    ),
    ReportCase(
        "a queue reclaims what it deserves by its weight",
        nodes(4, 1), queue("mine"), queue("theirs"), running("aaaa", name="rich", queue="theirs"),
        gang(1, queue="mine"), conf=WEIGHTS,
        victims={"rich-task-3": ("gang-task-0 on a", "proportion: queue theirs has cpu 4, deserves 3")},
        consents={"rich-task-3": ["proportion", "conformance"]},
        protected={"proportion": (
            ["rich-task-2", "rich-task-1", "rich-task-0"],
            "queue theirs has cpu 4, deserves 3: other pods of the queue are evicted first, and then it holds no "
            "more than that",
        )},
    ),
    ReportCase(
        "a queue reclaims its guarantee",
        nodes(4, 1), queue("mine", 2), queue("theirs", 2), running("aaaa", name="rich", queue="theirs"),
        gang(1, queue="mine"), conf=PROMISES,
        victims={"rich-task-3": ("gang-task-0 on a", "capacity: queue theirs has cpu 4, deserves 2")},
        consents={"rich-task-3": ["capacity"]},
    ),
    ReportCase(
        "a queue within its guarantee keeps what it has",
        nodes(4, 1), queue("mine", 2), queue("theirs", 1), queue("others", 1),
        running("a", name="fair", queue="others"), running("aaa", name="rich", queue="theirs"), gang(1, queue="mine"),
        conf=PROMISES,
        protected={
            "not-needed": (["rich-task-1"], ENOUGH),
            "capacity": (["rich-task-0", "fair-task-0"],
                         "queue theirs has cpu 3, deserves 1: other pods of the queue are evicted first, and then it "
                         "holds no more than that"),
        },
    ),
    ReportCase(
        "a guarantee is not taken away",
        nodes(4, 1), queue("mine", 2), queue("theirs", 1, priority=1), queue("kept", 1, guarantee={"cpu": 1}),
        running("a", name="safe", queue="kept"), running("aaa", name="rich", queue="theirs"), gang(1, 2, queue="mine"),
        conf=PROMISES,
        protected={"capacity": (["safe-task-0", "rich-task-0"],
                             "the guarantee of its queue covers it: queue kept has cpu 1, deserves 1")},
    ),
    ReportCase(
        "priorities justify nothing between queues",
        nodes(4, 1), queue("mine"), queue("theirs"), running("aaaa", name="rich", queue="theirs"),
        gang(1, queue="mine"),
        conf=configuration("priority", "gang", "proportion", "predicates", actions="allocate, gangreclaim"),
        victims={"rich-task-3": ("gang-task-0 on a", "proportion: queue theirs has cpu 4, deserves 3")},
    ),
    ReportCase(
        "equal priorities do not differ when a whole gang of another queue is evicted",
        nodes(4, 1), queue("mine"), queue("theirs"),
        running("aaaa", name="whole", queue="theirs", priority="low", minimum=4),
        gang(2, name="equal", queue="mine", priority="low"),
        conf=configuration("priority", "gang", "proportion", "predicates", actions="allocate, gangreclaim"),
        consents={f"whole-task-{number}": ["priority", "gang", "proportion"] for number in range(4)},
    ),
    ReportCase(
        "a guarantee is not taken away by the eviction of a whole gang",
        nodes(1, 2), queue("mine"), queue("kept", guarantee={"cpu": 1}),
        running("ab", name="safe", queue="kept", minimum=2), gang(1, queue="mine"), conf=WEIGHTS,
        victims={}, stopped={
            "proportion": (["safe-task-1"],
                           "queue kept has cpu 2, deserves 1: other pods of the queue are evicted first, and then it "
                           "holds no more than that"),
            "queue-guarantee": (["safe-task-0"],
                                "without PodGroup default/safe, queue kept has less than its guarantee"),
            "no-node": (["a", "b"], "0/2 nodes are available: 2 Insufficient cpu."),
        },
    ),
    ReportCase(
        "a pod that may run on revocable nodes leaves the others",
        nodes(1, 1), low("a", **MARKED), high(annotations={"volcano.sh/preemptable": "false"}),
        conf=configuration(BROAD, LENDING, "predicates", actions="enqueue, allocate, preempt"),
        victims={"low-task-0": ("high-task-0 on a",
                                "tdm: it may run on revocable nodes, and the preemptor may not")},
    ),
    ReportCase(
        "a custom plugin without a message is named",
        nodes(1, 1), low("a"), high(), conf=PROBED, extensions=[SILENT],
        victims={"low-task-0": ("high-task-0 on a", "probe: ")},
    ),
    ReportCase(
        "a custom plugin returns its justification",
        nodes(1, 1), low("a"), high(), conf=PROBED, extensions=[ELOQUENT],
        victims={"low-task-0": ("high-task-0 on a", "probe: high-task-0 before low-task-0")},
    ),
    ReportCase(
        "a more expensive node is reported",
        nodes(2, 2), low("aa", name="two", cpu=1), low("b", name="one", cpu=2), high(cpu=2),
        victims={"one-task-0": ("high-task-0 on b", LOWER)},
        elsewhere={"a": "not cheaper: 2 pods up to priority 10 at least"},
    ),
    ReportCase(
        "a node without evictable pods is reported",
        nodes(1, 2), low("a", name="vital", namespace="kube-system"), low("b"), high(),
        victims={"low-task-0": ("high-task-0 on b", LOWER)},
        elsewhere={"a": "no pod there may be evicted: conformance protects 1 (kube-system/vital-task-0: namespace "
                        "kube-system keeps the cluster alive)"},
    ),
    ReportCase(
        "a node with too few evictable pods is reported",
        nodes(2, 2), low("a", name="vital", namespace="kube-system"), low("a", name="weak"),
        running("b", 2, name="middle", priority="middle"), high(cpu=2),
        victims={"middle-task-0": ("high-task-0 on b", "priority: priority 50 < 100")},
        elsewhere={"a": "1 preemptable pod would not free enough capacity: conformance protects 1 "
                        "(kube-system/vital-task-0: namespace kube-system keeps the cluster alive)"},
    ),
]  # fmt: skip

STOPPED = [
    ReportCase(
        "all pods are equally important",
        nodes(1, 2), running("ab", name="equal", priority="high"), high(),
        victims={}, stopped={"priority": (["equal-task-0", "equal-task-1"], "priority 100 is not below 100")},
    ),
    ReportCase(
        "the preemptor never preempts",
        nodes(1, 1), low("a"), high(**NEVER),
        victims={}, stopped={"preemptionPolicy": (["high-task-0"], "default/high-task-0 has preemptionPolicy Never")},
    ),
    ReportCase(
        "a budget protects every pod, without the plugin",
        nodes(1, 1), budget("web", 0, {"app": "web"}), low("a", **APP), high(),
        victims={}, stopped={"disruption-budget": (["low-task-0"], "disruption budget default/web allows 0 more")},
    ),
    ReportCase(
        "a budget protects every pod, with the plugin",
        nodes(1, 1), budget("web", 0, {"app": "web"}), low("a", **APP), high(), conf=GUARDED,
        victims={}, stopped={"pdb": (["low-task-0"], "disruption budget default/web allows 0 more")},
    ),
    ReportCase(
        "two budgets about one pod",
        nodes(1, 1), budget("web", 5, {"app": "web"}), budget("also", 5, {"app": "web"}), low("a", **APP), high(),
        victims={},
        stopped={"disruption-budget": (["low-task-0"],
                                       "2 disruption budgets cover it (default/also, default/web)")},
    ),
    ReportCase(
        "a budget is enough for one of two",
        nodes(1, 2), budget("web", 1, {"app": "web"}), low("ab", **APP), high(2),
        victims={}, stopped={"disruption-budget": (["low-task-0"], "disruption budget default/web allows 0 more")},
    ),
    ReportCase(
        "gangs that keep their minimum",
        nodes(1, 2), low("ab", minimum=2), high(), conf=KEEPING,
        victims={}, stopped={"gang": (["low-task-0", "low-task-1"], "PodGroup default/low has 2 pods and needs 2")},
    ),
    ReportCase(
        "a gang of which not all members may be evicted",
        nodes(1, 2), gang_of(pod(1, nodeName="a"), pod(1, nodeName="b", labels={"volcano.sh/preemptable": "false"}),
                             name="whole", priority="low", phase="Running"), high(),
        victims={},
        stopped={
            "preemptable-label": (["whole-task-1"], "its label or annotation volcano.sh/preemptable is false"),
            "gang-minimum": (["whole-task-0"],
                             "PodGroup default/whole has 2 pods and needs 2, and not all may be evicted"),
            "no-node": (["a", "b"], "0/2 nodes are available: 2 Insufficient cpu."),
        },
    ),
    ReportCase(
        "no node is large enough even after eviction",
        nodes(2, 2), low("ab"), high(cpu=3),
        victims={}, stopped={"no-node": (["a", "b"], "0/2 nodes are available: 2 Insufficient cpu.")},
    ),
    ReportCase(
        "no node would take it even after eviction",
        nodes(2, 1, labels={"zone": "x"}), low("aa"), high(nodeSelector={"zone": "y"}),
        victims={},
        stopped={"no-node": (["a"], "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.")},
    ),
    ReportCase(
        "the queue would not take it even after eviction",
        nodes(4, 1), queue("small", capability={"cpu": 3}), running("aa", name="old", priority="low", queue="small"),
        gang(1, 4, name="high", priority="high", queue="small"),
        conf=configuration("priority", BROAD, "capacity", "predicates", actions="allocate, preempt"),
        victims={},
        stopped={"QueueCapabilityExceeded": (["high-task-0"], "queue small may have cpu 3 and has 0")},
    ),
    ReportCase(
        "pods of other schedulers hold too much capacity",
        nodes(4, 1), low("a"), running("aa", name="equal", priority="high"), high(cpu=3),
        victims={},
        stopped={
            "priority": (["equal-task-0", "equal-task-1"], "priority 100 is not below 100"),
            "no-node": (["a"], "0/1 nodes are available: 1 Insufficient cpu."),
        },
    ),
    ReportCase(
        "pods with preemptable false",
        nodes(1, 1), low("a", labels={"volcano.sh/preemptable": "false"}), high(),
        victims={},
        stopped={"preemptable-label": (["low-task-0"], "its label or annotation volcano.sh/preemptable is false")},
    ),
    ReportCase(
        "another queue that gives nothing back",
        nodes(2, 1), queue("mine"), queue("theirs", reclaimable=False), running("aa", name="rich", queue="theirs"),
        gang(1, queue="mine"), conf=WEIGHTS,
        victims={},
        stopped={"reclaimable-queue": (["rich-task-0", "rich-task-1"], "queue theirs has reclaimable: false")},
    ),
    ReportCase(
        "a queue that has no more than its guarantee",
        nodes(2, 1), queue("mine", 1), queue("theirs", 2), running("aa", name="fair", queue="theirs"),
        gang(1, queue="mine"), conf=PROMISES,
        victims={},
        stopped={"capacity": (["fair-task-0", "fair-task-1"],
                              "the queue has no more than it deserves: queue theirs has cpu 2, deserves 2")},
    ),
    ReportCase(
        "the preemptor's queue deserves no more",
        nodes(2, 1), queue("mine", 1), queue("theirs", 1), running("a", name="held", queue="mine"),
        running("a", name="other", queue="theirs"), gang(1, queue="mine"), conf=PROMISES,
        victims={},
        stopped={"QueueShareExhausted": (["gang-task-0"], "queue mine does not deserve cpu 1 more")},
    ),
    ReportCase(
        "a pod without the requested resource",
        nodes(3, 1, gpu=1), node("b", 3, taints=["gpu:NoSchedule"]), queue("mine", 3), queue("theirs"), foreign("a", 3),
        running("a", cpu=None, gpu=1, name="other", queue="theirs"), gang(1, 3, queue="mine"), conf=PROMISES,
        victims={},
        stopped={"capacity": (["other-task-0"], "it holds no resource that the preemptor requests: queue theirs has "
                                                "nvidia.com/gpu 1, deserves 0")},
    ),
    ReportCase(
        "a pod that has just got its place",
        nodes(1, 1), low("a", placed="2026-01-01T00:00:00Z", labels={"volcano.sh/cooldown-time": "10m"}),
        gang(1, name="now", priority="high", created="2026-01-01T00:01:00Z"), conf=GUARDED,
        victims={}, stopped={"cdp": (["low-task-0"], "it was placed 60 s ago, and its cool-down time is 600 s")},
    ),
    ReportCase(
        "a job that has not worked for long enough",
        nodes(1, 1), low("a", minimum=1, placed="2026-01-01T00:00:00Z"),
        gang(1, name="now", priority="high", created="2026-01-01T00:01:00Z"),
        conf=configuration("priority", BROAD, HOURS, "predicates", actions="enqueue, allocate, preempt"),
        victims={},
        stopped={"minruntime": (["low-task-0"], "PodGroup default/low has run for 60 s and is left alone for 3600 s")},
    ),
    ReportCase(
        "capacity that was received a short while ago",
        nodes(1, 1), queue("left"), queue("right"), running("a", name="one", queue="left"),
        gang(1, name="two", queue="right"), gang(1, name="late", queue="left"), conf=RECLAIMING, cycles=3,
        extensions=[GIVING], victims={"one-task-0": ("two-task-0 on a", "probe: ")},
        stopped={"thrashingWindow": (["two-task-0"],
                                     "it received capacity of default/late or its queue less than 60s ago")},
    ),
    ReportCase(
        "a custom plugin without a reason",
        nodes(1, 1), low("a"), high(), conf=PROBED, extensions=[STRICT],
        victims={}, stopped={"probe": (["low-task-0"], "no reason given")},
    ),
    ReportCase(
        "a custom plugin whose message raises an error",
        nodes(1, 1), low("a"), high(), conf=PROBED, extensions=[STUMBLING],
        victims={}, stopped={"probe": (["low-task-0"], "(reason unavailable: ValueError: no message)")},
    ),
    ReportCase(
        "no plugin answers",
        nodes(1, 1), low("a"), high(),
        conf=configuration(BROAD, "predicates", actions="enqueue, allocate, preempt"),
        victims={}, stopped={"no-plugin": (["low-task-0"], "no configured plugin allows its eviction")},
    ),
    ReportCase(
        "shares that are equal already",
        nodes(2, 1), running("a", 2, name="rich"), gang(1, 2, name="poor"), conf=FAIR,
        victims={},
        stopped={"drf": (["rich-task-0"],
                         "PodGroup default/rich would keep a share of 0% only, default/poor would have 100%")},
    ),
]  # fmt: skip


@pytest.mark.parametrize("reported", VICTIMS, ids=lambda reported: reported.name)
def test_eviction_report(reported: ReportCase) -> None:
    reported.check()


@pytest.mark.parametrize("reported", STOPPED, ids=lambda reported: reported.name)
def test_failed_preemption_reports_rules(reported: ReportCase) -> None:
    reported.check()
