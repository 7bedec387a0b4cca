"""Running pods are moved closer together so that a gang fits: which pods move, which stay, and when none moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from stromboli.core.config.plugin import Domain, Plugin
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import (
    Facts,
    Manifest,
    budget,
    foreign,
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
from tests.testing.manifests.shared_devices import gpu_node, having, sharing, vgpu

ACTIONS = "enqueue, allocate, consolidate"
PLUGINS = ("gang", "conformance", "predicates")
CLASSES = [priority_class("high", 100), priority_class("low", 10)]


def moves(
    name: str,
    *world: Any,
    moved: str = "",
    binds: str,
    by: tuple[Any, ...] = PLUGINS,
    given: Mapping[str, object] | None = None,
    actions: str = ACTIONS,
    **more: Any,
) -> Case:
    """Moved pods, by names without `-task`; in capitals the node of a pod that gets its capacity."""
    conf = configuration(*by, actions=actions, arguments={"consolidate": given} if given else None)
    evicts = [f"{each.rpartition('-')[0]}-task-{each.rpartition('-')[2]}" for each in moved.split()]
    return Case(name, CLASSES, world, conf=conf, evicts=evicts, binds=binds, **more)


def small(place: str, name: str, cpu: object = 1, **facts: Any) -> list[Manifest]:
    """A job of one pod."""
    return running(place, cpu, name=name, **{"minimum": 1, **facts})


#: Two nodes of two, half of each in use: capacity for two in sum, but not on one node.
HALF_FULL = [nodes(2, 2), small("a", "one"), small("b", "two")]
LARGE = gang(1, 2, name="large")

MOVED = [
    moves("one pod moves so that a large one fits", HALF_FULL, LARGE, moved="one-0", binds="A"),
    moves("no pod moves when the job fits anyway", nodes(2, 3), small("a", "one"), small("b", "two"), LARGE, binds="c"),
    moves("no pod moves where the sum of free capacity is too small", nodes(2, 2), small("a", "one", 2),
          small("b", "two"), LARGE,
          binds="-", codes={"large": ["InsufficientResource"]}),
    moves("no pod moves that has no other place", nodes(3, 2), small("a", "one", 2), small("b", "two", 2),
          gang(1, 2, name="large"), binds="-", codes={"large": ["InsufficientResource", "PreemptionInsufficient"]}),
    moves("a gang of two gets two nodes", nodes(2, 4), small("a", "one"), small("b", "two"), small("c", "three"),
          small("d", "four"), gang(2, 2), moved="one-0 three-0", binds="AC"),
    moves("the whole gang or no pod", nodes(2, 3), small("a", "one"), small("b", "two"), small("c", "three"),
          gang(2, 2, minimum=2), binds="--"),
    moves("only as many as must start together", nodes(2, 3), small("a", "one"), small("b", "two"),
          small("c", "three"), gang(2, 2, minimum=1), moved="one-0", binds="A-"),
    moves("although no pod of many other nodes has another place", nodes(8, 20),
          [small(place, f"large-{place}", 6) for place in "abcdefghijklmnopqr"],
          [small(place, f"small-{place}{number}") for place in "st" for number in range(3)],
          gang(1, 6, name="larger"), moved="small-s2-0", binds="S"),
    moves("where fewest have to move", nodes(4, 2), small("a", "one"), small("a", "two"), small("b", "three", 2),
          gang(1, 4), moved="three-0", binds="B"),
    moves("the least important moves", nodes(2, 2), small("a", "one", priority="low"),
          small("b", "two", priority="high"), gang(1, 2, name="large", priority="high"), moved="one-0", binds="A"),
    moves("no more than are needed", nodes(4, 2), small("a", "one"), small("a", "two"), small("b", "three", 3),
          gang(1, 3), moved="two-0", binds="A"),
    moves("capacity that is being released is a place to move to", nodes(2, 2), small("a", "one"), small("b", "two"),
          small("b", "gone", releasing=True), gang(1, 2, name="large"), moved="one-0", binds="A"),
    moves("several resources count", nodes(2, 2, memory="2Gi"), small("a", "one", memory="2Gi"),
          small("b", "two", memory="2Gi"), LARGE, binds="-"),
    moves("GPUs are brought together", [node(name, 64, gpu=8) for name in "ab"],
          [small("a", f"left{place}", gpu=1) for place in range(3)],
          [small("b", f"right{place}", gpu=1) for place in range(2)], gang(1, 8, gpu=8, name="large"),
          moved="right0-0 right1-0", binds="B"),
    moves("a pod of another scheduler is not moved", nodes(2, 2), foreign("a"), foreign("b", name="other"), LARGE,
          binds="-", codes={"large": ["InsufficientResource", "NoPreemptablePods"]}),
    moves("the preemptors' own members stay", nodes(2, 2), foreign("b"),
          gang_of(pod(nodeName="a"), pod(2), minimum=2, phase="Running"), binds="-"),
    moves("pods that are bound and do not run yet move, too", nodes(2, 2), small("a", "one", phase="Pending"),
          foreign("b"), LARGE, moved="one-0", binds="A"),
    moves("without the action no pod moves", HALF_FULL, LARGE, binds="-", actions="enqueue, allocate"),
    moves("after what is left for allocate", HALF_FULL, gang(1, 1, name="small"), LARGE, binds="a-"),
    moves("two gangs in one cycle", nodes(2, 4), small("a", "one"), small("b", "two"), small("c", "three"),
          small("d", "four"), gang(1, 2, name="first"), gang(1, 2, name="second"), moved="one-0 three-0", binds="AC"),
    moves("it starts in the next cycle", HALF_FULL, LARGE, moved="one-0", binds="a", cycles=2),
]  # fmt: skip

GANGS = [
    moves("a gang moves whole", nodes(2, 3), running("ab", name="pair", minimum=2), small("c", "one", 1),
          gang(1, 2, name="large", priority="low"), moved="one-0", binds="C"),
    moves("if there is nothing else", nodes(2, 3), running("ab", name="pair", minimum=2), foreign("c"),
          gang(1, 2, name="large"), moved="pair-0 pair-1", binds="B"),
    moves("a member above the minimum moves alone", nodes(2, 3), running("ab", name="pair", minimum=1), foreign("c"),
          gang(1, 2, name="large"), moved="pair-1", binds="B"),
    moves("a gang that moves whole may save another from it", node("b", 2), node("c", 1), node("d", 1), node("e", 1),
          node("z", 3), small("z", "one"), running("bz", name="pair", minimum=2), gang(2, 2, name="large"),
          moved="pair-0 pair-1", binds="ZB"),
    moves("also where moved pods have to be placed elsewhere", node("b", 2), node("c", 1), node("d", 1), node("a", 3),
          small("a", "one"), running("ba", name="pair", minimum=2), gang(2, 2, name="large"), moved="pair-0 pair-1",
          binds="AB"),
    moves("not if one of them may not move", nodes(2, 3), foreign("c"),
          gang_of(pod(nodeName="a"), pod(nodeName="b", labels={"volcano.sh/preemptable": "false"}), name="pair",
                  phase="Running"),
          gang(1, 2, name="large"), binds="-"),
    moves("not if one of them has no other place", nodes(2, 3), foreign("c"),
          gang_of(pod(nodeName="a", nodeSelector={"disk": "gone"}), pod(nodeName="b"), name="pair", phase="Running"),
          LARGE, binds="-"),
    moves("a gang that must be near each other stays", nodes(2, 2),
          running("a", name="near", minimum=1, topology={"mode": "hard", "highestTierAllowed": 1}), foreign("b"),
          LARGE, binds="-"),
]  # fmt: skip

RULES = [
    moves("node selectors of moved pods apply", node("a", 2, labels={"disk": "ssd"}), node("b", 2),
          small("a", "one", nodeSelector={"disk": "ssd"}), small("b", "two"), LARGE, moved="two-0", binds="B"),
    moves("and may keep them on their nodes", node("a", 2, labels={"disk": "ssd"}), node("b", 2),
          small("a", "one", nodeSelector={"disk": "ssd"}), foreign("b"), LARGE, binds="-"),
    moves("taints apply", nodes(2, 1), node("b", 2, taints=["gpu:NoSchedule"]), small("a", "one"), foreign("b"), LARGE,
          binds="-"),
    moves("host ports apply", nodes(2, 2), small("a", "one", ports=[{"containerPort": 80, "hostPort": 80}]),
          foreign("b", ports=[{"containerPort": 80, "hostPort": 80}]), LARGE, binds="-"),
    moves("a cordoned node is no target", node("a", 2), node("b", 2, cordoned=True), node("c", 2),
          small("a", "one"), small("c", "two", 2), LARGE, binds="-"),
    moves("anti-affinity of moved pods applies", [node(name, 2, labels={"host": name}) for name in "ab"],
          small("a", "one", labels={"app": "web"}, affinity={"podAntiAffinity": {
              "requiredDuringSchedulingIgnoredDuringExecution": [
                  {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "host"}]}}),
          foreign("b", labels={"app": "web"}), LARGE, binds="-"),
    moves("the large pod's own constraints apply", node("a", 2), node("b", 2, labels={"disk": "ssd"}),
          small("a", "one"),
          small("b", "two"), gang(1, 2, name="large", nodeSelector={"disk": "ssd"}), moved="two-0", binds="B"),
    moves("a queue that may not take more gets nothing", HALF_FULL, queue("tight", capability={"cpu": 1}),
          gang(1, 2, name="large", queue="tight"), binds="-", by=(*PLUGINS, "proportion")),
    moves("queues have what they had", nodes(2, 2), queue("ours"), queue("theirs"), small("a", "one", queue="theirs"),
          small("b", "two", queue="theirs"), gang(1, 2, name="large", queue="ours"), moved="one-0", binds="A",
          by=(*PLUGINS, "proportion")),
]  # fmt: skip


def at(clock: str) -> str:
    return f"2026-03-01T{clock}:00Z"


NOON = {**namespace("clock"), "metadata": {"name": "clock", "uid": "clock", "creationTimestamp": at("12:00")}}
PROTECTED_FOR = {"defaultPreemptMinRuntime": "1h", "defaultReclaimMinRuntime": "1h"}
GUARDED_BY_TIME = ("gang", plugin("minruntime", PROTECTED_FOR), "predicates")

GUARDED = [
    moves("a pod with preemptable false stays", nodes(2, 2),
          small("a", "one", labels={"volcano.sh/preemptable": "false"}), small("b", "two"), LARGE,
          moved="two-0", binds="B"),
    moves("also if there is no other pod", nodes(2, 2), small("a", "one", labels={"volcano.sh/preemptable": "false"}),
          foreign("b"), LARGE, binds="-"),
    moves("a more important pod stays", nodes(2, 2), small("a", "one", priority="high"), foreign("b"),
          gang(1, 2, name="large", priority="low"), binds="-",
          codes={"large": ["InsufficientResource", "NoPreemptablePods"]}),
    moves("an equally important pod moves", nodes(2, 2), small("a", "one", priority="high"), foreign("b"),
          gang(1, 2, name="large", priority="high"), moved="one-0", binds="A"),
    moves("critical pods stay", nodes(2, 2),
          small("a", "one", priorityClassName="system-node-critical"), foreign("b"), LARGE, binds="-",
          reasons={"large": [
              "0/2 nodes are available: 2 Insufficient cpu.",
              "consolidate: none of 1 running pod may be moved: conformance protects 1 (default/one-task-0: "
              "priority class system-node-critical keeps the cluster alive)"]}),
    moves("a queue that is not reclaimable keeps its pods", nodes(2, 2),
          {**queue("firm"), "spec": {"reclaimable": False}}, small("a", "one", queue="firm"), foreign("b"), LARGE,
          binds="-"),
    moves("except for its own jobs", nodes(2, 2), {**queue("firm"), "spec": {"reclaimable": False}},
          small("a", "one", queue="firm"), foreign("b"), gang(1, 2, name="large", queue="firm"), moved="one-0",
          binds="A"),
    moves("a disruption budget applies", nodes(2, 2), budget("none", 0, {"app": "x"}),
          small("a", "one", labels={"app": "x"}), foreign("b"), LARGE, binds="-"),
    moves("and spent once", nodes(2, 4), budget("one", 1, {"app": "x"}),
          [small(place, f"job{place}", labels={"app": "x"}) for place in "abcd"], gang(2, 2), binds="--"),
    moves("also on one node", nodes(4, 2), budget("one", 1, {"app": "x"}),
          [small("a", f"left{n}", labels={"app": "x"}) for n in range(2)],
          [small("b", f"right{n}", labels={"app": "x"}) for n in range(2)], gang(1, 4, name="large"), binds="-"),
    moves("a newly started pod stays", NOON, nodes(2, 2), small("a", "one", placed=at("11:50")),
          small("b", "two", placed=at("09:00")), LARGE, moved="two-0", binds="B", by=GUARDED_BY_TIME),
    moves("even if no other pod could move", NOON, nodes(2, 2), small("a", "one", placed=at("11:50")), foreign("b"),
          LARGE, binds="-", by=GUARDED_BY_TIME, codes={"large": ["InsufficientResource", "NoPreemptablePods"]}),
    moves("a pod that never preempts waits", HALF_FULL, gang(1, 2, name="large", preemptionPolicy="Never"),
          binds="-", codes={"large": ["InsufficientResource", "PreemptionPolicyNever"]}),
]  # fmt: skip

#: A node must be emptied of two pods.
CROWDED = [nodes(4, 2), [small("a", f"left{n}") for n in range(2)], [small("b", f"right{n}") for n in range(2)]]
TOO_MANY = "consolidate: the plan would move more pods than allowed in a cycle (1 left)"

LIMITS = [
    moves("as many as may move in a cycle", CROWDED, gang(1, 4, name="large"), moved="left0-0 left1-0", binds="A",
          given={"maxMovedPods": 2}),
    moves("not more", CROWDED, gang(1, 4, name="large"), binds="-", given={"maxMovedPods": 1},
          reasons={"large": ["0/2 nodes are available: 2 Insufficient cpu.", TOO_MANY]}),
    moves("any number", CROWDED, gang(1, 4, name="large"), moved="left0-0 left1-0", binds="A",
          given={"maxMovedPods": -1}),
    moves("none", CROWDED, gang(1, 4, name="large"), binds="-", given={"maxMovedPods": 0}),
    moves("what one gang used is gone for the next", nodes(2, 4), [small(place, f"job{place}") for place in "abcd"],
          gang(1, 2, name="first"), gang(1, 2, name="second"), moved="joba-0", binds="A-", given={"maxMovedPods": 1}),
    moves("the number of tried jobs is limited", nodes(2, 4), [small(place, f"job{place}") for place in "abcd"],
          gang(1, 2, name="first"), gang(1, 2, name="second"), moved="joba-0", binds="A-", given={"maxTriedJobs": 1}),
]  # fmt: skip


class HalvesPlugin(Plugin):
    """Nodes a and b are near each other, and so are c and d; b and d alone are nearest."""

    name = "halves"

    def open(self, session: Any) -> None:
        self._names = session.nodes.names

    def hyper_node_gradient_for_job(self, job: Any, root: Any) -> Any:
        return [[Domain(part, 1, np.array([name in part for name in self._names])) for part in ("ab", "cd")]]


NEAR: Facts = {"topology": {"mode": "hard", "highestTierAllowed": 1}}
DOMAINS = [
    moves("a gang that must be near each other gets nodes of one domain", nodes(2, 4),
          [small(place, f"job{place}") for place in "acd"], foreign("b"), gang(2, 2, name="large", **NEAR),
          moved="jobc-0 jobd-0", binds="CD", by=(*PLUGINS, "halves"), extensions=[HalvesPlugin]),
    moves("or none", nodes(2, 4), [small(place, f"job{place}") for place in "ac"], foreign("b"),
          foreign("d", name="other"), gang(2, 2, name="large", **NEAR), binds="--", by=(*PLUGINS, "halves"),
          extensions=[HalvesPlugin]),
]  # fmt: skip

SHARES = [queue(name, deserved={"cpu": cpu}) for name, cpu in (("rich", 1), ("fair", 4), ("poor", 8))]
BY_SHARES = (["gang", "priority", "conformance"], ["predicates", "capacity"])
BY_PRIORITY = ("priority", *PLUGINS)
THEN_RECLAIM, THEN_PREEMPT = "allocate, consolidate, reclaim", "allocate, consolidate, preempt"


def half_full(**facts: Any) -> list[Any]:
    """Two nodes of four, half of each in use."""
    return [
        nodes(4, 2),
        SHARES,
        [small(place, name, 2, minimum=0, **facts) for place, name in (("a", "one"), ("b", "two"))],
    ]


RICH, CHEAP = half_full(queue="rich"), half_full(priority="low")
RICH_LARGE, CHEAP_LARGE = gang(1, 4, name="large", queue="rich"), gang(1, 4, name="large", priority="low")
#: More than is free, but not more than with evictions.
OWED, URGENT = gang(2, 3, name="next", queue="poor"), gang(2, 3, name="next", priority="high")
STAY = (
    "consolidate: none of 2 running pods may be moved: pending-preemption protects 2 (default/one-task-0: {} evicts it "
    "for default/next)"
)

ACROSS_ACTIONS = [
    moves("a pod moves where no other job waits", RICH, RICH_LARGE, moved="one-0", binds="A", by=BY_SHARES,
          actions=THEN_RECLAIM),
    moves("a pod that reclaim evicts stays, and is evicted once", RICH, RICH_LARGE, OWED, moved="one-0 two-0",
          binds="- AB", by=BY_SHARES, actions=THEN_RECLAIM,
          reasons={"large": ["0/2 nodes are available: 2 Insufficient cpu.", "queue rich does not deserve cpu 4 more",
                             STAY.format("reclaim")]}),
    moves("also where reclaim comes first in a cycle", RICH, RICH_LARGE, OWED, moved="one-0 two-0", binds="- AB",
          by=BY_SHARES, actions="allocate, reclaim, consolidate"),
    moves("it moves where that job cannot be served", RICH, RICH_LARGE, gang(1, 5, name="next", queue="poor"),
          moved="one-0", binds="A -", by=BY_SHARES, actions=THEN_RECLAIM),
    moves("it moves where no action reclaims", RICH, RICH_LARGE, OWED, moved="one-0", binds="A --", by=BY_SHARES,
          actions="allocate, consolidate"),
    moves("it moves where that job is served by moves as well", nodes(4, 4), SHARES,
          [small(place, f"job{place}", 2, minimum=0, queue="rich") for place in "abcd"], RICH_LARGE,
          gang(1, 4, name="next", queue="poor"), moved="joba-0 jobc-0", binds="C A", by=BY_SHARES,
          actions=THEN_RECLAIM),
    moves("a pod of a queue within its share moves beside reclaim", nodes(4, 3), SHARES,
          [small(place, f"job{place}", 2, queue="fair") for place in "ab"],
          small("c", "two", 4, minimum=0, queue="rich"),
          gang(1, 4, name="large", queue="poor"), gang(1, 4, name="next", queue="poor"), moved="joba-0 two-0",
          binds="A C", by=BY_SHARES, actions=THEN_RECLAIM),
    moves("a pod that preempt evicts stays, and is evicted once", CHEAP, CHEAP_LARGE, URGENT, moved="one-0 two-0",
          binds="- AB", by=BY_PRIORITY, actions=THEN_PREEMPT,
          reasons={"large": ["0/2 nodes are available: 2 Insufficient cpu.", STAY.format("preempt"),
                             "preempt: no running pod of queue default may be evicted"]}),
    moves("a pod that gangpreempt evicts stays", CHEAP, CHEAP_LARGE, URGENT, moved="one-0 two-0", binds="- AB",
          by=BY_PRIORITY, actions="allocate, consolidate, gangpreempt"),
    moves("a pod whose queue may not take it again stays", nodes(3, 2),
          [queue(name) for name in ("over", "ours", "wide")],
          [small(place, f"job{place}{n}", queue="over") for place in "ab" for n in range(2)],
          gang(1, 2, name="large", queue="ours"), gang(1, 6, name="other", queue="wide"), binds="- -",
          by=(*PLUGINS, "proportion")),
]  # fmt: skip

SHARED = sharing(VGPUEnable=True, actions=ACTIONS)


def on_gpu(place: str, name: str, gpu: str, memory: int) -> list[Manifest]:
    """A job of one pod that has a fraction of a GPU."""
    given = having(f"{gpu}:{memory}")
    return running(place, name=name, minimum=1, annotations=given, more=vgpu(memory=memory))


def devices(name: str, taken: int, moved: str, binds: str) -> Case:
    """A pod requests both GPUs of a node; two others would have to share those of the other node with a third."""
    stranger = foreign("b", annotations=having(f"g2:{taken}"), more=vgpu(memory=taken))
    world = (gpu_node("a", "g0", "g1"), gpu_node("b", "g2", "g3"), on_gpu("a", "one", "g0", 9000), stranger)
    return Case(
        name, *world, on_gpu("a", "two", "g1", 9000), gang(1, name="large", more=vgpu(2, 16000)), conf=SHARED,
        evicts=[f"{each}-task-0" for each in moved.split()], binds=binds,
    )  # fmt: skip


DEVICES = [
    devices("free devices are targets", 7000, "one two", "A"),
    devices("no capacity is nominated twice", 8000, "", "-"),
]

RECLAIMING = configuration("gang", "predicates", actions=ACTIONS, arguments={"consolidate": {"reclaims": True}})
RECLAIMING_BY_SHARES = configuration(
    *BY_SHARES, actions="enqueue, allocate, consolidate", arguments={"consolidate": {"reclaims": True}}
)
TWO_HALF_FULL = [
    nodes(2, 2), running("a", name="one", queue="left"), running("b", name="two", queue="left"),
    running("a", name="three", queue="guest"), gang(1, 2),
]  # fmt: skip
RECLAIMED = [
    Case("a pod without another place is reclaimed", TWO_HALF_FULL, queue("left"), queue("guest"), conf=RECLAIMING,
         binds="B", evicts=["two-task-0"]),
    Case("one that the guarantee of its queue covers moves, beside another one that is reclaimed", TWO_HALF_FULL,
         queue("left", guarantee={"cpu": 2}), queue("guest"), conf=RECLAIMING, binds="A",
         evicts=["one-task-0", "three-task-0"]),
    *(
        Case(name, TWO_HALF_FULL,
             queue("left", deserved={"cpu": 0}), queue("guest", deserved={"cpu": 0}),
             queue("default", deserved={"cpu": deserved}), conf=RECLAIMING_BY_SHARES, binds=binds, evicts=evicts)
        for name, deserved, binds, evicts in (
            ("a queue reclaims up to its share", 2, "B", ["two-task-0"]), ("and nothing beyond its share", 1, "-", []),
        )
    ),
]  # fmt: skip

CASES = [*DEVICES, *MOVED, *GANGS, *RULES, *GUARDED, *LIMITS, *DOMAINS, *ACROSS_ACTIONS, *RECLAIMED]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_consolidate(case: Case) -> None:
    case.check()


def test_eviction_names_target_node_of_moved_pod() -> None:
    case = moves("", HALF_FULL, LARGE, binds="")
    [(pod_name, words)] = case.plan().evictions.items()
    assert pod_name == "default/one-task-0"
    assert "default/large-task-0" in words
    assert "node b has capacity for it" in words
