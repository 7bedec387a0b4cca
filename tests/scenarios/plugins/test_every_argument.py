"""Every argument of every plugin and action has an effect, or reports that it has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from stromboli.core.actions import ACTIONS
from stromboli.core.config.arguments import Arguments, ArgumentSpec
from stromboli.core.plugins import PLUGINS
from stromboli.kube.objects.timestamps import RUN_TIME
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.manifests.builders import (
    Facts,
    Manifest,
    foreign,
    gang,
    gang_of,
    node,
    nodes,
    priority_class,
    queue,
    running,
)
from tests.testing.manifests.fractional_gpus import gpus, member, part, reservation
from tests.testing.manifests.hypernodes import HARD_RACK, TREE, racks
from tests.testing.manifests.node_usage import measured
from tests.testing.manifests.numa_nodes import BEST, crew, machine
from tests.testing.manifests.resource_claims import (
    claim_spec,
    claiming,
    device,
    device_class,
    exactly,
    offer,
    resource_claim,
    template,
)
from tests.testing.manifests.shared_devices import chips, device_config, gpu_node, npu, npus, shared_gpus
from tests.testing.manifests.storage import DRIVER, HOST, ZONE, claim, csi_node, storage_class, using, volume

ARGUMENTS: dict[str, Arguments] = {owner.name: owner.arguments for owner in (*PLUGINS, *ACTIONS)}
DECLARED = {owner: arguments.declared for owner, arguments in ARGUMENTS.items()}


class Row:
    """An argument, a value other than its default, and the placements with the default and with that value."""

    def __init__(
        self,
        owner: str,
        key: str,
        value: object,
        *world: Any,
        default: str,
        changed: str,
        given: Mapping[str, object] | None = None,
        switches: Mapping[str, bool] | None = None,
        actions: str = "enqueue, allocate, backfill",
        cycles: int = 1,
    ) -> None:
        declared = ARGUMENTS[owner].declaration_of(key)
        assert declared is not None
        self.owner, self.key, self.value, self.declared = owner, key, value, declared
        self.default, self.changed = default, changed
        self.given = dict(given or {})
        self.switches = dict(switches or {})
        self.actions = actions
        self.case = Case(key, *world, binds="", cycles=cycles, extensions=PROBE_ACTIONS)

    def __str__(self) -> str:
        return f"{self.key} of {self.owner}"

    def binds(self, **arguments: object) -> str:
        if any(self.owner == action.name for action in ACTIONS):
            of_action = {self.owner: {**self.given, **arguments}}
            conf = configuration("gang", "predicates", actions=self.actions, arguments=of_action)
            return self.case.binds(self.case.plan(conf))
        names = dict.fromkeys(("gang", "predicates", self.owner))
        own = plugin(self.owner, {**self.given, **arguments}, **self.switches)
        conf = configuration(*(own if name == self.owner else name for name in names), actions=self.actions)
        return self.case.binds(self.case.plan(conf))


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOSTS = [node(name, 8, "8Gi", labels={"host": name}) for name in "ab"]
WEB = {"app": "web"}
NEAR_WEB = {"labelSelector": {"matchLabels": WEB}, "topologyKey": "host"}
ON_B = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
GPU = "nvidia.com/gpu"
PORT = [{"containerPort": 80, "hostPort": 80}]
#: Gives node b the lower score by its free capacity.
CROWD = foreign("b", 2, "2Gi", name="crowd")


def affinity(kind: str, strength: str, terms: Any) -> Manifest:
    return {"affinity": {kind: {strength: terms}}}


def spread(when: str) -> Manifest:
    constraint = {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": when, "labelSelector": {"matchLabels": WEB}}
    return {"labels": WEB, "topologySpreadConstraints": [constraint]}


NODEORDER = [
    Row(
        "nodeorder", "leastrequested.weight", 0, HOSTS, foreign("a"), gang(1), default="b", changed="a",
        given={"balancedresource.weight": 0},
    ),
    Row("nodeorder", "mostrequested.weight", 3, HOSTS, CROWD, gang(1, memory="1Gi"), default="a", changed="b"),
    Row(
        "nodeorder", "balancedresource.weight", 0, node("a", 4, "8Gi"), node("b", 8, "8Gi"), gang(1, 2, memory="2Gi"),
        default="b", changed="a", given={"leastrequested.weight": 0},
    ),
    Row(
        "nodeorder", "nodeaffinity.weight", 0, HOSTS, CROWD,
        gang(1, **affinity("nodeAffinity", PREFERRED, [{"weight": 1, "preference": ON_B}])), default="b", changed="a",
    ),
    Row(
        "nodeorder", "podaffinity.weight", 0, HOSTS, CROWD, foreign("b", 0, labels=WEB),
        gang(1, **affinity("podAffinity", PREFERRED, [{"weight": 1, "podAffinityTerm": NEAR_WEB}])), default="b",
        changed="a",
    ),
    Row(
        "nodeorder", "tainttoleration.weight", 0, node("a", 8, "8Gi", taints=["spot:PreferNoSchedule"]),
        node("b", 8, "8Gi"), CROWD, gang(1), default="b", changed="a",
    ),
    Row(
        "nodeorder", "imagelocality.weight", 0, node("a"), node("b", images={"train:1": 900}), gang(1, image="train:1"),
        default="b", changed="a",
    ),
    Row(
        "nodeorder", "podtopologyspread.weight", 0, HOSTS, CROWD, foreign("a", 0, labels=WEB),
        gang(1, **spread("ScheduleAnyway")), default="b", changed="a",
    ),
]  # fmt: skip

NODES = nodes(8, 2, memory="8Gi")

BINPACK = [
    Row(
        "binpack", "binpack.bestFit", True, node("a", 4), node("b", 40), foreign("b", 30), gang(1, 2), default="b",
        changed="a", given={"binpack.memory": 0},
    ),
    Row("binpack", "binpack.weight", 0, NODES, CROWD, gang(1), default="b", changed="a"),
    Row(
        "binpack", "binpack.cpu", 5, NODES, foreign("a", 0, "4Gi"), CROWD, gang(1, memory="1Gi"), default="a",
        changed="b",
    ),
    Row("binpack", "binpack.memory", 5, NODES, foreign("a", 6), CROWD, gang(1, memory="1Gi"), default="a", changed="b"),
    Row(
        "binpack", "binpack.resources", GPU, nodes(8, 2, gpu=4), foreign("b", 0, gpu=2), gang(1, gpu=1), default="a",
        changed="b",
    ),
    Row(
        "binpack", f"binpack.resources.{GPU}", 5, nodes(8, 2, gpu=4), foreign("a", 4),
        foreign("b", 0, gpu=1, name="other"), gang(1, gpu=1), default="a", changed="b",
        given={"binpack.resources": GPU},
    ),
]  # fmt: skip

OTHERS = [
    Row(
        "gang", "growInTurn", True, nodes(4, 1), gang(3, name="one", minimum=1), gang(3, name="two", minimum=1),
        default="aaaa--", changed="aa-aa-",
    ),
    Row(
        "numa-aware", "weight", 0, machine("a", BEST, free="0-1,4-5"), machine("b", BEST), crew(1, 4, BEST),
        default="b", changed="a",
    ),
    Row(
        "task-topology", "task-topology.weight", 0, nodes(1, 2), node("c", 2),
        gang(0, roles=["ps", "worker"], notes={"volcano.sh/task-topology-affinity": "ps,worker"}), default="cc",
        changed="ab",
    ),
    Row("overcommit", "overcommit-factor", 2.0, nodes(10, 1), gang(1, resources={"cpu": 15}), default="-", changed="a"),
    Row(
        "predicates", "predicate.NodeAffinityEnable", False, nodes(4, 2),
        gang(1, **affinity("nodeAffinity", REQUIRED, {"nodeSelectorTerms": [ON_B]})), default="b", changed="a",
    ),
    Row(
        "predicates", "predicate.TaintTolerationEnable", False, node("a", taints=["gpu:NoSchedule"]), node("b"),
        gang(1), default="b", changed="a",
    ),
    Row(
        "predicates", "predicate.NodePortsEnable", False, nodes(4, 2), running("a", ports=PORT), gang(1, ports=PORT),
        default="b", changed="a",
    ),
    Row(
        "predicates", "predicate.PodAffinityEnable", False, HOSTS, foreign("b", labels=WEB),
        gang(1, **affinity("podAffinity", REQUIRED, [NEAR_WEB])), default="b", changed="a",
    ),
    Row(
        "predicates", "predicate.PodTopologySpreadEnable", False, HOSTS, foreign("a", labels=WEB),
        gang(1, **spread("DoNotSchedule")), default="b", changed="a",
    ),
    Row(
        "predicates", "predicate.NodeVolumeLimitsEnable", False, nodes(4, 2), csi_node("a", 0), claim(has="v"),
        volume("v", of_claim="data", csi=DRIVER), gang(1, volumes=using("data")), default="b", changed="a",
    ),
    Row(
        "predicates", "predicate.VolumeZoneEnable", False, node("a", labels={ZONE: "east"}),
        node("b", labels={ZONE: "west"}), claim(has="v"), volume("v", of_claim="data", labels={ZONE: "west"}),
        gang(1, volumes=using("data")), default="b", changed="a",
    ),
    Row(
        "predicates", "predicate.VolumeBindingEnable", False, node("a", labels={HOST: "a"}),
        node("b", labels={HOST: "b"}), storage_class(), claim(), volume("v", on="b"),
        gang(1, volumes=using("data")), default="b", changed="a",
    ),
    Row(
        "predicates", "predicate.DynamicResourceAllocationEnable", False, nodes(4, 2), device_class(), offer("b", 1),
        resource_claim(), gang(1, resourceClaims=claiming("mine")), default="b", changed="a",
    ),
]  # fmt: skip

RESOURCE_STRATEGY_FIT = [
    Row(
        "resource-strategy-fit", "resourceStrategyFitWeight", 0, HOSTS, foreign("a"), gang(1), default="b", changed="a",
    ),
    Row(
        "resource-strategy-fit", "resources", {"cpu": {"type": "MostAllocated"}}, HOSTS, foreign("a"), gang(1),
        default="b", changed="a",
    ),
    Row(
        "resource-strategy-fit", "sra", {"enable": True, "resources": GPU, "weight": 9}, node("a", 9, gpu=1), node("b"),
        gang(1), default="a", changed="b",
    ),
    Row(
        "resource-strategy-fit", "proportional", {"enable": True, "resources": GPU}, node("a", 9, gpu=9), node("b"),
        gang(1), default="a", changed="b",
    ),
]  # fmt: skip

IN_GROUPS = [node(name, labels={"volcano.sh/nodegroup-name": name}) for name in "ab"]
LIKES = queue("team", affinity={"nodeGroupAffinity": {PREFERRED: ["b", "a"]}})

NODEGROUP = [
    Row("nodegroup", "strict", False, nodes(4, 1), gang(1), default="-", changed="a"),
    Row("nodegroup", "enablePreferredOrder", True, IN_GROUPS, LIKES, gang(1, queue="team"), default="a", changed="b"),
]

REVOCABLE = "volcano.sh/revocable-zone"
OLD: Facts = {"labels": {"app": "old"}, "notes": {"volcano.sh/preemptable": "true"}}
AWAY_FROM_OLD = {"labelSelector": {"matchLabels": {"app": "old"}}, "topologyKey": "site"}

TDM = [
    Row(
        "tdm", "tdm.revocable-zone.z", "0:00-0:00", node("a", labels={REVOCABLE: "z"}),
        gang(1, annotations={REVOCABLE: "*"}), default="-", changed="a",
    ),
    Row(
        "tdm", "tdm.evict.period", "1ns", node("a", labels={REVOCABLE: "z", "site": "x"}),
        node("b", labels={"site": "x"}), running("aa", **OLD),
        gang(1, **affinity("podAntiAffinity", REQUIRED, [AWAY_FROM_OLD]), created="2026-03-01T12:00:00Z"),
        gang(1, cpu=99, name="never"), cycles=3, actions="enqueue, allocate, evict-victims",
        given={"tdm.revocable-zone.z": "01:00-02:00"}, default="--", changed="b-",
    ),
]  # fmt: skip

DEPARTMENT = {**queue("department"), "spec": {"deserved": {"cpu": 2}}}

CAPACITY = [
    Row(
        "capacity", "ancestorReclaimLevel", 1, nodes(2, 1), DEPARTMENT, queue("poor", parent="department"),
        queue("rich"), running("aa", queue="rich"), gang(1, queue="poor"), switches={"enableHierarchy": True},
        actions="evict-for-queue, allocate", default="-", changed="A",
    ),
    Row(
        "capacity", "capacity.DynamicResourceAllocationEnable", False, nodes(4, 1), device_class(), offer("a", 2),
        queue("q", capability={"deviceclass/gpu": 1}), template(),
        gang(2, minimum=1, queue="q", resourceClaims=claiming(dev="each")), default="a-", changed="aa",
    ),
    Row(
        "capacity", "capacity.DRAConsumableCapacityEnable", True, nodes(4, 1), device_class(),
        offer("a", device("g0", capacity={"memory": "40Gi"}), device("g1", capacity={"memory": "40Gi"})),
        queue("q", capability={"deviceclass/gpu": 2, "memory.deviceclass/gpu": "30Gi"}),
        template(claim_spec(exactly(1, capacity={"memory": "20Gi"}))),
        gang(2, minimum=1, queue="q", resourceClaims=claiming(dev="each")), default="aa", changed="a-",
    ),
]  # fmt: skip

CAPACITY += [
    Row(
        "proportion", "lendIdle", True, nodes(4, 1), queue("left"), queue("right"), gang(4, minimum=1, queue="left"),
        gang(1, 9, name="large", queue="right"), default="aa---", changed="aaaa-",
    ),
    Row(
        "proportion", "reclaimBeyondMinimum", True, nodes(4, 1), queue("left"), queue("right"),
        running("aaaa", queue="left", minimum=1), gang(2, minimum=1, queue="right"), actions="allocate, reclaim",
        cycles=3, default="a-", changed="aa",
    ),
    Row(
        "capacity", "reclaimBeyondMinimum", True, nodes(4, 1), queue("rich"), queue("poor", deserved={"cpu": 3}),
        running("aaa", queue="rich"), gang(3, minimum=1, queue="poor"), actions="allocate, reclaim", default="a--",
        changed="aAA",
    ),
    Row(
        "capacity", "shareSurplus", True, nodes(2, 1), queue("rich"), queue("poor"), running("aa", queue="rich"),
        gang(1, queue="poor"), actions="allocate, reclaim", default="-", changed="A",
    ),
    Row(
        "capacity", "nonPreemptableWithinDeserved", True, nodes(4, 1), DEPARTMENT,
        gang(3, minimum=1, queue="department", annotations={"volcano.sh/preemptable": "false"}),
        default="aaa", changed="aa-",
    ),
    Row(
        "capacity", "nonPreemptablePriority", 100, nodes(2, 1), DEPARTMENT, queue("rich"), priority_class("high", 100),
        running("aa", queue="rich", priority="high"), gang(1, queue="department"), actions="allocate, reclaim",
        default="A", changed="-",
    ),
]  # fmt: skip

SLA = [
    Row(
        "sla", "sla-waiting-time", "1h", nodes(1, 1), gang(1, name="old", created="2026-03-01T10:00:00Z"),
        gang(1, name="young", created="2026-03-01T11:00:00Z", notes={"volcano.sh/sla-waiting-time": "99h"}),
        default="-a", changed="a-",
    ),
]  # fmt: skip

SHORT: Facts = {"name": "short", "created": "2026-03-01T11:00:00Z", "annotations": {RUN_TIME: "10m"}}
LONG: Facts = {"name": "long", "created": "2026-03-01T10:00:00Z", "annotations": {RUN_TIME: "4h"}}
SHORTFIRST = [
    Row("shortfirst", "shortfirst.factor", 0, nodes(1, 1), gang(1, **LONG), gang(1, **SHORT),
        default="-a", changed="a-"),
    Row("shortfirst", "shortfirst.limit", "10m", nodes(1, 1), gang(1, **LONG), gang(1, **SHORT),
        default="-a", changed="a-"),
    Row(
        "shortfirst", "shortfirst.wholeCluster", "1h", nodes(1, 1), gang(1, name="large", created=LONG["created"]),
        gang(1, 0.5, name="small", created=SHORT["created"]), default="-a", changed="a-",
    ),
]  # fmt: skip

LATELY: Facts = {"placed": "2026-03-01T11:50:00Z", "queue": "rich"}
NOON: Facts = {"created": "2026-03-01T12:00:00Z"}

MINRUNTIME = [
    Row(
        "minruntime", "defaultPreemptMinRuntime", "1h", nodes(1, 1), queue("rich"), running("a", **LATELY),
        gang(1, queue="rich", **NOON), actions="evict-preemptable, allocate", switches={"enableReclaimable": False},
        default="A", changed="-",
    ),
    Row(
        "minruntime", "defaultReclaimMinRuntime", "1h", nodes(1, 1), queue("rich"), running("a", **LATELY),
        gang(1, **NOON), actions="evict-reclaimable, allocate", default="A", changed="-",
    ),
    Row(
        "minruntime", "reclaimResolveMethod", "queue", nodes(1, 1), queue("above"),
        queue("rich", parent="above", annotations={"scheduling.stromboli.dev/reclaim-min-runtime": "1h"}),
        running("a", **LATELY), gang(1, **NOON), actions="evict-reclaimable, allocate", default="A", changed="-",
    ),
]  # fmt: skip

TWO_TEN = [node(name, 10, "100Gi", labels={"host": name}) for name in "ab"]
B_IS_CALM = [measured("a", 4), measured("b", 2)]

USAGE = [
    Row("usage", "usage.weight", 0, TWO_TEN, B_IS_CALM, gang(1), default="b", changed="a"),
    Row(
        "usage", "cpu.weight", 5, TWO_TEN, measured("a", 2, "30Gi"), measured("b", 4), gang(1), default="b",
        changed="a",
    ),
    Row(
        "usage", "memory.weight", 5, TWO_TEN, measured("a", 4, "10Gi"), measured("b", 2, "20Gi"), gang(1), default="b",
        changed="a",
    ),
    Row("usage", "thresholds", {"cpu": 30}, TWO_TEN, measured("a", 4), gang(1, nodeSelector={"host": "a"}),
        default="a", changed="-"),
    Row(
        "usage", "estimator", {"request_ratio": 1}, TWO_TEN, measured("a", 2), measured("b", "2900m"), gang(2),
        default="aa", changed="ab",
    ),
]  # fmt: skip

BALANCED = [{"name": "lowNodeUtilization", "params": {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}}]
#: Node a is full and busy, and a pod waits for its capacity.
BUSY = [*TWO_TEN, measured("a", 9), measured("b", 1), running("a" * 10)]


def waiting_for(cpu: int) -> Any:
    return gang(1, cpu, nodeSelector={"host": "a"})


def rescheduled(key: str, value: object, cpu: int, **outcome: Any) -> Row:
    given = {} if key == "strategies" else {"strategies": BALANCED}
    world = (*BUSY, waiting_for(cpu))
    return Row("rescheduling", key, value, *world, given=given, actions="allocate, shuffle", cycles=3, **outcome)


RESCHEDULING = [
    rescheduled("strategies", BALANCED, 4, default="-", changed="a"),
    rescheduled("interval", "1ns", 6, default="-", changed="a"),
    rescheduled("queueSelector", ["other"], 4, default="a", changed="-"),
    rescheduled("labelSelector", {"team": "x"}, 4, default="a", changed="-"),
]

ON: Facts = {"deviceshare.VGPUEnable": True}
HALF = {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 8000}
MIG = gpu_node("a", "g0", kind="X1", mode="mig")
ONE_SET = "allowedGeometries: [{group: g, geometries: [{name: i, memory: 8000, count: 2}]}]"
SETS = f"nvidia: {{knownMigGeometries: [{{models: [X1], {ONE_SET}}}]}}"
B_IS_USED = [
    gpu_node("a", "g0"), gpu_node("b", "g1"),
    foreign("b", more=HALF, annotations={"volcano.sh/vgpu-ids-new": "g1,NVIDIA,8000,0:"}),
]  # fmt: skip


def of_devices(key: str, value: object, *world: Any, given: Mapping[str, object] | None = None, **outcome: Any) -> Row:
    return Row("deviceshare", f"deviceshare.{key}", value, *world, given=given, **outcome)


DEVICESHARE = [
    of_devices(
        "GPUSharingEnable", True, shared_gpus("a", 2, 16000), gang(1, more={"volcano.sh/gpu-memory": 9000}),
        default="a", changed="-",
    ),
    of_devices(
        "GPUNumberEnable", True, shared_gpus("a", 2, 0, unhealthy="1"), gang(1, more={"volcano.sh/gpu-number": 2}),
        default="a", changed="-",
    ),
    of_devices("VGPUEnable", True, gpu_node("a", "g0"), gang(1, more=HALF), default="-", changed="a"),
    of_devices("AscendHAMiVNPUEnable", True, npus("a", "n0"), gang(1, more=npu(memory=3000)), default="-", changed="a"),
    of_devices(
        "AscendMindClusterVNPUEnable", True, chips("a", 1), gang(1, more={"huawei.com/npu-core": 3}), default="a",
        changed="-",
    ),
    of_devices(
        "SchedulePolicy", "binpack", B_IS_USED, gang(1, more=HALF), given={**ON, "deviceshare.ScheduleWeight": 1},
        default="a", changed="b",
    ),
    of_devices(
        "ScheduleWeight", 1, B_IS_USED, gang(1, more=HALF), given={**ON, "deviceshare.SchedulePolicy": "binpack"},
        default="a", changed="b",
    ),
    of_devices(
        "KnownGeometriesCMName", "mine", MIG, device_config(SETS, "mine"), gang(1, more=HALF), given=ON, default="-",
        changed="a",
    ),
    of_devices(
        "KnownGeometriesCMNamespace", "mine", MIG, device_config(SETS, namespace="mine"), gang(1, more=HALF), given=ON,
        default="-", changed="a",
    ),
    of_devices(
        "GPUExclusiveRules", [{"kind": "training"}], gpu_node("a", "g0"),
        gang(2, more=HALF, labels={"kind": "training"}, minimum=1), given=ON, default="aa", changed="a-",
    ),
]  # fmt: skip

GPU_SHARING = [
    Row(
        "gpusharing", "gpusharing.SchedulePolicy", "gpuspread", gpus("a", 2), gang(2, annotations=part("0.4")),
        gang(1, name="whole", gpu=1), default="aaa", changed="aa-",
    ),
    Row(
        "gpusharing", "gpusharing.ScheduleWeight", 0, gpus("a", 1), gpus("b", 2),
        gang_of(member("b", "x"), name="old", minimum=0, phase="Running"), gang(1, annotations=part("0.5")),
        default="b", changed="a",
    ),
    Row(
        "gpusharing", "gpusharing.ReservationNamespace", "mine", gpus("a", 1), reservation("a", "x"),
        gang(1, annotations=part("0.5")), default="a", changed="-",
    ),
]  # fmt: skip

_FOUR_AND_THREE = (node("a", 64, gpu=4), node("b", 64, gpu=3))
_GROWTH = {"fragmentation.scarcity": 0, "fragmentation.balance": 0, "fragmentation.bestFit": 0}
_QUARTETS, _SINGLES = {"fragmentation.shapes": [{"gpus": "4"}]}, {"fragmentation.shapes": [{"gpus": "1"}]}

FRAGMENTATION = [
    Row(
        "fragmentation",
        "fragmentation.weight",
        0,
        *_FOUR_AND_THREE,
        gang(1, gpu=1),
        given={**_GROWTH, **_QUARTETS},
        default="b",
        changed="a",
    ),
    Row(
        "fragmentation",
        "fragmentation.shapes",
        [{"gpus": "4"}],
        *_FOUR_AND_THREE,
        gang(1, gpu=1),
        given=_GROWTH,
        default="a",
        changed="b",
    ),
    Row(
        "fragmentation",
        "fragmentation.resource",
        "example.com/gpu",
        *_FOUR_AND_THREE,
        gang(1, gpu=1),
        given={**_GROWTH, **_QUARTETS},
        default="b",
        changed="a",
    ),
    Row(
        "fragmentation",
        "fragmentation.popularity",
        50,
        *_FOUR_AND_THREE,
        gang(1, gpu=4, name="later"),
        gang(3, gpu=1, name="first"),
        given=_GROWTH,
        default="abbb",
        changed="-aaa",
    ),
    Row(
        "fragmentation",
        "fragmentation.scarcity",
        0,
        node("a", 64, gpu=3, labels={"model": "rare"}),
        node("b", 64, gpu=3),
        gang(1, gpu=1),
        gang(2, gpu=4, name="waits", nodeSelector={"model": "rare"}),
        given={"fragmentation.balance": 0, "fragmentation.bestFit": 0},
        default="b--",
        changed="a--",
    ),
    Row(
        "fragmentation",
        "fragmentation.balance",
        0,
        node("a", 8, gpu=4),
        node("b", 64, gpu=4),
        gang(1, 4, gpu=1),
        given={**_SINGLES, "fragmentation.bestFit": 0},
        default="b",
        changed="a",
    ),
    Row(
        "fragmentation",
        "fragmentation.bestFit",
        0,
        node("a", 64, gpu=4),
        node("b", 64, gpu=4),
        running("b", gpu=2),
        gang(1, gpu=1),
        given=_SINGLES,
        default="b",
        changed="a",
    ),
]

#: Arguments that a plan cannot show, and the tests that show them.
ELSEWHERE = {
    **{
        ("gpusharing", f"gpusharing.{key}"): "tests/unit/binding/steps/test_gpu_sharing.py"
        for key in ("ReservationImage", "ReservationSeconds", "ReservationRuntimeClass", "FakeGPUs", "CDIEnable")
    },
    ("rescheduling", "metricsPeriod"): "tests/unit/external/test_usage_feed.py",
    **{("fairshare", each.key): "tests/scenarios/fairshare/test_fairshare.py" for each in DECLARED["fairshare"]},
    **{("extender", each.key): "tests/unit/external/test_extender.py" for each in DECLARED["extender"]},
    ("deviceshare", "deviceshare.NodeLockEnable"): "tests/scenarios/devices/test_deviceshare.py",
    ("predicates", "volumebinding.bindTimeoutSeconds"): "tests/unit/binding/steps/test_volume_step.py",
    **{
        (action, key): f"tests/scenarios/preemption/history/{test}.py"
        for action in ("preempt", "reclaim", "gangpreempt", "gangreclaim")
        for key, test in {
            "thrashingWindow": "test_thrash_guard",
            "evictionMemory": "test_thrash_guard",
            "preemptionRate": "test_preemption_rates",
            "queuePreemptionRate": "test_preemption_rates",
            "checkpointWait": "test_lost_work",
            "maxEvictions": "test_lost_work",
        }.items()
    },
    ("gangpreempt", "victimOrder"): "tests/scenarios/preemption/history/test_lost_work.py",
    ("gangreclaim", "victimOrder"): "tests/scenarios/preemption/history/test_lost_work.py",
    ("gangpreempt", "maxDomains"): "tests/scenarios/preemption/test_gang_preempt.py",
    ("gangreclaim", "maxDomains"): "tests/scenarios/preemption/test_gang_reclaim.py",
}

STALEGANG = [
    Row(
        "stalegang", "gracePeriod", "0s", nodes(1, 1), running("a", minimum=2), gang(1, name="next"),
        actions="enqueue, stalegang, allocate", default="-", changed="A",
    ),
]  # fmt: skip

RELIEVE = [
    Row(
        "relieve", "gracePeriod", "0s", nodes(2, 1), running("a", 2), foreign("a"), gang(1, name="next"),
        actions="enqueue, relieve, allocate", default="-", changed="A",
    ),
]  # fmt: skip

#: Every node is half full.
SCATTERED = [nodes(2, 24), [running(place, name=f"half-{place}") for place in "abcdefghijklmnopqrstuvwx"]]

CONSOLIDATE = [
    Row(
        "consolidate", "maxMovedPods", 0, nodes(2, 2), running("a", name="one"), running("b", name="two"), gang(1, 2),
        actions="enqueue, allocate, consolidate", default="A", changed="-",
    ),
    Row(
        "consolidate", "maxTriedJobs", 1, SCATTERED, gang(1, 2, name="first"), gang(1, 2, name="second"),
        actions="enqueue, allocate, consolidate", default="AC", changed="A-",
    ),
    Row(
        "consolidate", "reclaims", True, nodes(2, 2), queue("left"), queue("guest"),
        running("a", name="one", queue="left"), running("b", name="two", queue="left"),
        running("a", name="three", queue="guest"), gang(1, 2), actions="enqueue, allocate, consolidate", default="-",
        changed="B",
    ),
    Row(
        "consolidate", "anyPriority", True, nodes(2, 2), priority_class("high", 100),
        running("a", name="one", priority="high"), running("b", name="two", priority="high"), gang(1, 2),
        actions="enqueue, allocate, consolidate", default="-", changed="A",
    ),
]  # fmt: skip

#: The pods on a are younger in sum; the oldest pod on b is younger than the oldest on a.
AGES = [
    nodes(2, 2), priority_class("high", 100),
    *[
        {**each, "metadata": {**each["metadata"], "creationTimestamp": f"2026-01-{day:02}T00:00:00Z"}}
        for place, name, day in (("a", "w", 1), ("a", "x", 9), ("b", "y", 3), ("b", "z", 4))
        for each in running(place, name=name)
    ],
    gang(1, 2, name="urgent", priority="high"),
]  # fmt: skip
AWARE: Facts = {"enableTopologyAwarePreemption": True}


def preempting(key: str, value: object, default: str, changed: str, **given: Any) -> Row:
    return Row("preempt", key, value, *AGES, default=default, changed=changed, given=given, actions="allocate, preempt")


RECLAIM = [
    Row(
        "reclaim", "victimOrder", "youngest", nodes(3, 2), queue("rich"), running("a", 3, queue="rich", name="oldest"),
        running("bb", 1, queue="rich", name="young", created="2026-03-01T12:00:00Z"),
        running("b", 1, queue="rich", name="also", created="2026-03-01T12:00:00Z"),
        gang(1, 3, created="2026-03-01T13:00:00Z"), actions="allocate, reclaim", default="A", changed="B",
    ),
]  # fmt: skip

PREEMPT = [
    Row(
        "preempt", "victimOrder", "youngest", nodes(3, 2), priority_class("high", 100), running("a", 3, name="oldest"),
        running("bbb", 1, name="young", created="2026-03-01T12:00:00Z"),
        gang(1, 3, priority="high", name="urgent"), actions="allocate, preempt", default="A", changed="B",
    ),
    preempting("enableTopologyAwarePreemption", True, "A", "B", minCandidateNodesPercentage=100),
    preempting("minCandidateNodesPercentage", 100, "A", "B", **AWARE),
    preempting("minCandidateNodesAbsolute", 2, "A", "B", **AWARE),
    preempting("maxCandidateNodesAbsolute", 1, "B", "A", minCandidateNodesPercentage=100, **AWARE),
]  # fmt: skip

GANGS = [
    Row(
        "gangpreempt", "allowWholeBundle", False, nodes(1, 1), priority_class("high", 100), running("a", minimum=1),
        gang(1, name="urgent", priority="high"), actions="allocate, gangpreempt", default="A", changed="-",
    ),
    Row(
        "gangreclaim", "allowWholeBundle", False, nodes(1, 1), queue("rich"), running("a", minimum=1, queue="rich"),
        gang(1), actions="allocate, gangreclaim", default="A", changed="-",
    ),
    Row(
        "gangpreempt", "priorityFirst", True, nodes(1, 2), priority_class("high", 100), priority_class("middle", 50),
        running("a", name="spare", priority="middle"), running("b", minimum=1), gang(1, name="urgent", priority="high"),
        actions="allocate, gangpreempt", default="A", changed="B",
    ),
    Row(
        "gangreclaim", "priorityFirst", True, nodes(1, 2), priority_class("middle", 50), queue("rich"),
        running("a", name="spare", priority="middle", queue="rich"), running("b", minimum=1, queue="rich"), gang(1),
        actions="allocate, gangreclaim", default="A", changed="B",
    ),
]  # fmt: skip

REARRANGED = [
    Row(
        "allocate", "rearrange", True, node("a", 3), node("b", 2), gang(1, 2, name="first"), gang(1, 3, name="second"),
        actions="allocate", default="a-", changed="ba",
    ),
]  # fmt: skip

LONG_AGO, NOW = "2026-01-01T11:00:00Z", "2026-01-01T12:00:00Z"
PASSED_OVER = [*running("a", 2), gang(1, 4, name="first", created=LONG_AGO), gang(1, 2, name="later", created=NOW)]
TWO_PASSED_OVER = [
    *nodes(4, 2), *running("a", 3), *running("b", 1, name="more"), *gang(1, 4, name="first", created=LONG_AGO),
    *gang(1, 4, name="second", created=LONG_AGO), *gang(1, 1, name="third", created=NOW),
]  # fmt: skip
IN_ORDER = [
    Row("allocate", "strict", True, nodes(4, 1), PASSED_OVER, default="-a", changed="--"),
    Row("allocate", "starvationTime", "30m", nodes(4, 1), PASSED_OVER, default="-a", changed="--"),
    Row(
        "allocate", "maxStarvingJobs", 2, TWO_PASSED_OVER, default="--a", changed="---",
        given={"starvationTime": "30m"},
    ),
]  # fmt: skip

#: What an argument switches off besides the rule in its row.
#: Two nodes that are almost full for an hour, two jobs that need a whole one each, and a small one that never ends.
FULL = [*nodes(4, 2), *running("ab", 3, annotations={"scheduling.stromboli.dev/run-time": "1h"})]
LINE = [gang(1, 4, name="first"), gang(1, 4, name="second"), gang(1, 1, name="third")]
BACKFILL = [
    Row("backfill", "strategy", "conservative", FULL, LINE, default="--a", changed="---"),
    Row(
        "backfill", "maxReservations", 1, FULL, LINE, default="---", changed="--b", given={"strategy": "conservative"},
    ),
]  # fmt: skip

ALSO = [
    Row(
        "predicates", "predicate.NodeAffinityEnable", False, nodes(4, 1), gang(1, nodeSelector={"disk": "ssd"}),
        default="-", changed="a",
    ),
    Row(
        "predicates", "predicate.PodAffinityEnable", False, HOSTS, foreign("a", labels=WEB),
        gang(1, **affinity("podAntiAffinity", REQUIRED, [NEAR_WEB])), default="b", changed="a",
    ),
    Row(
        "predicates", "predicate.PodAffinityEnable", False, HOSTS,
        foreign("a", **affinity("podAntiAffinity", REQUIRED, [NEAR_WEB])), gang(1, labels=WEB), default="b",
        changed="a",
    ),
    Row(
        "predicates", "predicate.TaintTolerationEnable", "false", nodes(4, 1, taints=["gpu:NoSchedule"]), gang(1),
        default="-", changed="a",
    ),
]  # fmt: skip

#: Four nodes in two racks, the second one busier in cpu and the first in memory.
HALVES = [node(name, 8, "8Gi", gpu=4) for name in "abcd"] + racks("ab", "cd")
UNEVEN = [*HALVES, running("c", cpu=4, name="cpu"), running("a", cpu=0, memory="2Gi", name="memory")]
CLOSE = gang(2, 1, memory="1Gi", topology=HARD_RACK)
CLOSE_GPU = gang(2, 1, gpu=1, topology=HARD_RACK)
GPU = "nvidia.com/gpu"
BY_GPU = [*HALVES, running("c", cpu=4, name="cpu"), running("a", cpu=0, gpu=3, name="gpu")]
FADING = [*TREE, running("ac", "1500m", name="low"), running("e", 2, name="high")]


def network_row(key: str, value: object, *world: Any, default: str, changed: str, **given: Any) -> Row:
    return Row("network-topology-aware", key, value, *world, default=default, changed=changed, given=given)


NETWORK = [
    network_row("weight", 0, UNEVEN, CLOSE, default="cc", changed="aa"),
    network_row("hypernode.binpack.cpu", 0, UNEVEN, CLOSE, default="cc", changed="aa"),
    network_row("hypernode.binpack.memory", 5, UNEVEN, CLOSE, default="cc", changed="aa"),
    network_row("hypernode.binpack.resources", GPU, BY_GPU, CLOSE_GPU, default="cc", changed="ab"),
    network_row(f"hypernode.binpack.resources.{GPU}", 0, BY_GPU, CLOSE_GPU, default="ab", changed="cc",
                **{"hypernode.binpack.resources": GPU}),
    network_row("hypernode.binpack.normal-pod.enable", False, HALVES, running("d"), gang(1), default="c", changed="a"),
    network_row("hypernode.binpack.normal-pod.fading", 2.0, FADING, gang(1, "500m"), default="f", changed="a"),
]  # fmt: skip

#: The defaults, as in Volcano.
DEFAULTS = {
    "allowWholeBundle": True, "priorityFirst": False, "rearrange": False, "victimOrder": "fewest",
    "starvationTime": "", "maxStarvingJobs": 1,
    "shareSurplus": False, "nonPreemptableWithinDeserved": False, "nonPreemptablePriority": 0,
    "lendIdle": False, "reclaimBeyondMinimum": False, "binpack.bestFit": False,
    "enableTopologyAwarePreemption": False, "minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 1,
    "maxCandidateNodesAbsolute": 100,
    "strategy": "best-effort",
    "maxReservations": 100,
    "leastrequested.weight": 1, "mostrequested.weight": 0, "balancedresource.weight": 1, "nodeaffinity.weight": 2,
    "podaffinity.weight": 2, "tainttoleration.weight": 3, "imagelocality.weight": 1, "podtopologyspread.weight": 2,
    "binpack.weight": 1, "binpack.cpu": 1, "binpack.memory": 1, "binpack.resources": "", "binpack.resources.<name>": 1,
    "overcommit-factor": 1.2, "predicate.NodeAffinityEnable": True, "predicate.NodePortsEnable": True,
    "predicate.TaintTolerationEnable": True, "predicate.PodAffinityEnable": True,
    "predicate.PodTopologySpreadEnable": True, "predicate.NodeVolumeLimitsEnable": True,
    "predicate.VolumeZoneEnable": True, "predicate.VolumeBindingEnable": True,
    "predicate.DynamicResourceAllocationEnable": True, "capacity.DynamicResourceAllocationEnable": True,
    "capacity.DRAConsumableCapacityEnable": False,
    "resourceStrategyFitWeight": 10, "resources": {}, "sra": {}, "proportional": {},
    "task-topology.weight": 1, "ancestorReclaimLevel": 0, "strict": True, "enablePreferredOrder": False,
    "sla-waiting-time": "",
    "shortfirst.factor": 2.0, "shortfirst.limit": "8h", "shortfirst.wholeCluster": "24h",
    "tdm.revocable-zone.<zone>": "", "tdm.evict.period": "1m",
    "defaultPreemptMinRuntime": "0s", "defaultReclaimMinRuntime": "0s", "reclaimResolveMethod": "lca",
    "usage.weight": 5, "cpu.weight": 1, "memory.weight": 1, "thresholds": {}, "estimator": {},
    "strategies": [], "interval": "5m", "queueSelector": [], "labelSelector": {},
    "weight": 1, "hypernode.binpack.cpu": 1, "hypernode.binpack.memory": 1, "hypernode.binpack.resources": "",
    "hypernode.binpack.resources.<name>": 1, "hypernode.binpack.normal-pod.enable": True,
    "hypernode.binpack.normal-pod.fading": 0.8,
    "gracePeriod": "60s", "maxMovedPods": 16, "maxTriedJobs": 10, "anyPriority": False, "reclaims": False,
    "growInTurn": False,
    "deviceshare.GPUSharingEnable": False, "deviceshare.GPUNumberEnable": False, "deviceshare.VGPUEnable": False,
    "deviceshare.AscendHAMiVNPUEnable": False, "deviceshare.AscendMindClusterVNPUEnable": False,
    "deviceshare.SchedulePolicy": "", "deviceshare.ScheduleWeight": 0, "deviceshare.GPUExclusiveRules": [],
    "deviceshare.KnownGeometriesCMName": "volcano-vgpu-device-config",
    "deviceshare.KnownGeometriesCMNamespace": "kube-system",
    "gpusharing.SchedulePolicy": "gpupack", "gpusharing.ScheduleWeight": 10,
    "gpusharing.ReservationNamespace": "stromboli-reservations",
    "fragmentation.weight": 1, "fragmentation.resource": GPU, "fragmentation.popularity": 95,
    "fragmentation.scarcity": 0.5, "fragmentation.balance": 0.2, "fragmentation.bestFit": 0.05,
    "fragmentation.shapes": [],
}  # fmt: skip

ROWS = [*REARRANGED, *IN_ORDER, *PREEMPT, *RECLAIM, *GANGS,
        *NODEORDER, *BINPACK, *RESOURCE_STRATEGY_FIT, *NODEGROUP, *SLA, *TDM, *CAPACITY, *MINRUNTIME, *OTHERS, *ALSO,
        *BACKFILL, *USAGE, *RESCHEDULING, *STALEGANG, *RELIEVE, *CONSOLIDATE, *DEVICESHARE, *NETWORK,
        *GPU_SHARING, *FRAGMENTATION, *SHORTFIRST]  # fmt: skip
IGNORED = [(owner, each) for owner, declared in DECLARED.items() for each in declared if each.ignored]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_argument_alone_decides(row: Row) -> None:
    assert row.default != row.changed
    assert (row.binds(), row.binds(**{row.key: row.value})) == (row.default, row.changed)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_default_can_be_written_out(row: Row) -> None:
    assert row.binds(**{row.key: row.declared.default}) == row.default


@pytest.mark.parametrize(("owner", "argument"), IGNORED, ids=[f"{a.key} of {owner}" for owner, a in IGNORED])
def test_argument_without_effect_is_marked(owner: str, argument: ArgumentSpec) -> None:
    value = {argument.key: argument.default}
    if owner in (action.name for action in ACTIONS):
        conf, kind = configuration("gang", actions=f"enqueue, allocate, {owner}", arguments={owner: value}), "action"
    else:
        conf, kind = configuration("gang", plugin(owner, value)), "plugin"
    [warning] = Case("", nodes(1, 1), gang(1), binds="a").plan(conf).warnings
    assert warning.endswith(f"argument {argument.key!r} of {kind} {owner!r} has no effect: {argument.ignored}")


def test_defaults_match_volcano() -> None:
    assert {row.declared.key: row.declared.default for row in ROWS} == DEFAULTS


def test_every_argument_has_a_row() -> None:
    declared = {(owner, each.key) for owner, arguments in DECLARED.items() for each in arguments if not each.ignored}
    assert {(row.owner, row.declared.key) for row in ROWS} | set(ELSEWHERE) == declared
