"""Pods share the devices of nodes, and no device is assigned twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from stromboli.core.config.configuration import ConfigurationError
from stromboli.core.config.plugin import PluginFailure
from tests.testing.cases.case import Case, plugin
from tests.testing.manifests.builders import Facts, Manifest, foreign, gang, gang_of, pod, priority_class, queue
from tests.testing.manifests.shared_devices import (
    A100,
    GPU_INDEX,
    HAMI,
    MEMORY,
    MIND_CLUSTER,
    NUMBER,
    VGPU,
    VGPU_IDS,
    bind_annotations_of,
    chips,
    device_config,
    gpu_node,
    having,
    ids_in,
    npu,
    npus,
    shared_gpus,
    sharing,
    vgpu,
)

TAKEN = "node(s) didn't have enough free GPUs"
NONE = "node(s) had no GPUs to share"
TWO = gpu_node("a", "g0", "g1")
HALF = vgpu(memory=8000)
BINPACK = sharing(VGPUEnable=True, SchedulePolicy="binpack", ScheduleWeight=1)
SPREAD = sharing(VGPUEnable=True, SchedulePolicy="spread", ScheduleWeight=1)


def old(
    places: str, *holdings: Mapping[str, str], more: Mapping[str, int] | None = None, **facts: Any
) -> list[Manifest]:
    """Running pods, each with its assigned devices."""
    members = [
        pod(1, nodeName=place, annotations=dict(given), more=dict(more or HALF), **facts)
        for place, given in zip(places, holdings, strict=True)
    ]
    return gang_of(*members, name="old", minimum=0, phase="Running")


MEMORY_AND_CORES = [
    Case("a fraction of a GPU", TWO, gang(1, more=HALF), conf=VGPU, binds="a"),
    Case("as many as fit", TWO, gang(5, more=HALF, minimum=1), conf=VGPU, binds="aaaa-"),
    Case("a gang that does not fit gets nothing", TWO, gang(5, more=HALF), conf=VGPU, binds="-----"),
    Case(
        "no pod gets two halves of different GPUs", TWO, gang(2, more=vgpu(memory=9000)),
        gang(1, name="more", more=vgpu(memory=9000)), conf=VGPU, binds="aa -",
        reasons={"more": [f"0/1 nodes are available: 1 {TAKEN}."]}, codes={"more": ["DevicesInUse"]},
    ),
    Case("the smaller one fits beside", TWO, gang(2, more=vgpu(memory=9000)), gang(2, name="more",
         more=vgpu(memory=7000)),
         conf=VGPU, binds="aa aa"),
    Case("memory in percent", TWO, gang(5, more=vgpu(percentage=50), minimum=1), conf=VGPU, binds="aaaa-"),
    Case("percent of a larger GPU are more", gpu_node("a", "g0", memory=32000),
         gang(1, more=vgpu(percentage=50)), gang(1, name="more", more=vgpu(memory=16001)), conf=VGPU, binds="a -"),
    Case("a pod without an amount gets a whole GPU", TWO, gang(3, more=vgpu(), minimum=1), conf=VGPU, binds="aa-"),
    Case("two GPUs for one container", TWO, gang(2, more=vgpu(2, 8000)), conf=VGPU, binds="aa"),
    Case("two GPUs are two different ones", gpu_node("a", "g0"), gang(1, more=vgpu(2, 1000)), conf=VGPU, binds="-"),
    Case("cores are counted", TWO, gang(5, more=vgpu(memory=100, cores=50), minimum=1), conf=VGPU, binds="aaaa-"),
    Case("all cores need an idle GPU", gpu_node("a", "g0"), gang(1, more=vgpu(memory=100)),
         gang(1, name="more", more=vgpu(memory=100, cores=100)), conf=VGPU, binds="a -"),
    Case("and keep it idle for others", gpu_node("a", "g0"), gang(1, more=vgpu(memory=100, cores=100)),
         gang(1, name="more", more=vgpu(memory=100)), conf=VGPU, binds="a -"),
    Case("no cores beside some", gpu_node("a", "g0"), gang(1, more=vgpu(memory=100, cores=60)),
         gang(1, name="more", more=vgpu(memory=100)), conf=VGPU, binds="a a"),
    Case("the number of pods on a GPU is limited", gpu_node("a", "g0", count=2),
         gang(3, more=vgpu(memory=10), minimum=1), conf=VGPU,
         binds="aa-"),
    Case("a sick GPU is not used", gpu_node("a", "g0", "g1", sick="g1"), gang(3, more=HALF, minimum=1), conf=VGPU,
         binds="aa-"),
    Case(
        "a node without a registration", gpu_node("a", registered=""), gang(1, more=HALF), conf=VGPU, binds="-",
        reasons={"gang": [f"0/1 nodes are available: 1 {NONE}."]}, codes={"gang": ["NoDevices"]},
    ),
    Case("pods without a GPU are placed anywhere", gpu_node("a", registered=""), gang(1), conf=VGPU, binds="a"),
    Case("two containers of a pod", TWO, gang(1, containers=[
        {"name": name, "resources": {"limits": vgpu(memory=12000)}} for name in ("one", "two")]), conf=VGPU, binds="a"),
    Case("a third container does not fit", TWO, gang(1, containers=[
        {"name": name, "resources": {"limits": vgpu(memory=12000)}} for name in ("one", "two", "three")]), conf=VGPU,
        binds="-"),
    Case(
        "a fraction of zero is rejected", TWO, gang(1, more={"volcano.sh/vgpu-memory": 100}), conf=VGPU, binds="-",
        reasons={"gang": [
            "Pod default/gang-task-0: spec.containers[0].resources.limits: a fraction of a device is requested "
            "without a device count; add volcano.sh/vgpu-number"
        ]},
        warnings=[
            "Pod default/gang-task-0: spec.containers[0].resources.limits: a fraction of a device is requested "
            "without a device count; add volcano.sh/vgpu-number"
        ],
    ),
    Case("more than all cores is refused", TWO, gang(1, more=vgpu(cores=101)), conf=VGPU, binds="-", warnings=[
        "Pod default/gang-task-0: spec.containers[0].resources.limits.volcano.sh/vgpu-cores: expected at most 100, as "
        "it is a percentage, got 101"]),
    Case("without the back-end amounts are amounts", gpu_node("a", "g0"), gang(1, more=HALF), binds="-"),
    Case("switched off, it hands out nothing", gpu_node("a", registered=""), gang(1, more=HALF), binds="a",
         conf=VGPU.replace("name: deviceshare", "name: deviceshare\n    enablePredicate: false")),
]  # fmt: skip

WHAT_RUNS = [
    Case("what runs is counted", TWO, old("aa", having("g0:8000"), having("g0:8000")),
         gang(3, more=HALF, minimum=1), conf=VGPU, binds="aa-"),
    Case("pods of others are counted", TWO, foreign("a", annotations=having("g1:16000"), more=HALF),
         gang(3, more=HALF, minimum=1), conf=VGPU, binds="aa-"),
    Case("pods that have ended are not", TWO, gang_of(pod(1, nodeName="a", phase="Succeeded", more=HALF,
         annotations=having("g1:16000")), name="old", minimum=0), gang(4, more=HALF), conf=VGPU, binds="aaaa"),
    Case("a GPU that is gone holds no pod", TWO, old("a", having("g9:16000")), gang(4, more=HALF), conf=VGPU,
         binds="aaaa"),
    Case("next cycles see what was assigned", TWO, gang(2, more=HALF), gang(3, name="more", more=HALF, minimum=1),
         conf=VGPU, cycles=3, binds="aa aa-"),
    Case("a terminating pod still holds its GPU", gpu_node("a", "g0"), old("a", having("g0:16000"), releasing=True),
         gang(1, more=HALF), conf=VGPU, binds="A"),
    Case("a nominated pod holds its GPU", gpu_node("a", "g0"), old("a", having("g0:16000"), releasing=True),
         gang(3, more=HALF, minimum=2), conf=VGPU, binds="AA-"),
    Case("beside it there is capacity now", TWO, old("a", having("g0:16000"), releasing=True), gang(2, more=HALF),
         conf=VGPU,
         binds="aa"),
    Case("a half that stays and one that leaves", gpu_node("a", "g0"),
         old("a", having("g0:8000"), releasing=True), gang(2, more=HALF, minimum=1), conf=VGPU, binds="aA"),
    Case("an unreadable value is reported", TWO, old("a", {VGPU_IDS: "g0;g1"}), gang(4, more=HALF), conf=VGPU,
         binds="aaaa",
         warnings=["Pod default/old-task-0: annotation volcano.sh/vgpu-ids-new: expected id,type,memory,cores for each "
                   "device, got 'g0'; its devices on node a are not counted as in use"]),
    Case("a bad registration is of one node", gpu_node("a", registered="g0,ten,1"), gpu_node("b", "g1"),
         gang(1, more=HALF), conf=VGPU, binds="b",
         warnings=["Node a: annotation volcano.sh/node-vgpu-register: expected uuid,count,memory,type,health,mode for "
                   "each GPU, got 'g0,ten,1'; its devices are not used"]),
    Case("numbers must be numbers", gpu_node("a", registered="g0,ten,1,V100,true,hami-core:"), gang(1, more=HALF),
         conf=VGPU, binds="-",
         warnings=["Node a: annotation volcano.sh/node-vgpu-register: expected uuid,count,memory,type,health,mode with "
                   "numbers as count and memory, got 'g0,ten,1,V100,true,hami-core'; its devices are not used"]),
]  # fmt: skip

KINDS = [gpu_node("a", "g0", kind="NVIDIA-A100"), gpu_node("b", "g1", kind="NVIDIA-V100")]


def noted(key: str, value: str, **facts: Any) -> list[Manifest]:
    return gang(1, more=HALF, annotations={key: value}, **facts)


REQUESTS = [
    Case("a type", KINDS, noted("nvidia.com/use-gputype", "v100"), conf=VGPU, binds="b"),
    Case("one of several types", KINDS, noted("nvidia.com/use-gputype", "H100,V100"), conf=VGPU, binds="b"),
    Case("no such type", KINDS, noted("nvidia.com/use-gputype", "H100"), conf=VGPU, binds="-"),
    Case("any type but one", KINDS, noted("nvidia.com/nouse-gputype", "A100"), conf=VGPU, binds="b"),
    Case("this very GPU", KINDS, noted("volcano.sh/vgpu-use-gpuuuid", "g1"), conf=VGPU, binds="b"),
    Case("any GPU but this", KINDS, noted("volcano.sh/vgpu-nouse-gpuuuid", "g0"), conf=VGPU, binds="b"),
    Case("a mode", [gpu_node("a", "g0", mode="mps"), gpu_node("b", "g1")], noted("volcano.sh/vgpu-mode", "hami-core"),
         conf=VGPU, binds="b"),
    Case("pods of a job apart", TWO, gang(3, more=vgpu(memory=100), minimum=1,
         annotations={"volcano.sh/vgpu-podgroup-policy": "spread"}), conf=VGPU, binds="aa-"),
    Case("apart from their own job alone", gpu_node("a", "g0"), gang(1, name="one", more=vgpu(memory=100)),
         noted("volcano.sh/vgpu-podgroup-policy", "spread", name="two"), conf=VGPU, binds="a a"),
    Case("apart from those that run", TWO, old("a", having("g0:100")), gang_of(
         *(pod(1, more=vgpu(memory=100), annotations={"volcano.sh/vgpu-podgroup-policy": "spread"}) for _ in range(2)),
         name="old2"), conf=VGPU, binds="aa"),
]  # fmt: skip

TRAINING: Facts = {"GPUExclusiveRules": [{"workload": "training"}, {"workload": "batch", "urgent": True}]}
EXCLUSIVE = sharing(VGPUEnable=True, **TRAINING)
SMALL = vgpu(memory=100)

RULES = [
    Case("exclusive pods share no GPU", TWO, gang(3, more=SMALL, labels={"workload": "training"}, minimum=1),
         conf=EXCLUSIVE, binds="aa-"),
    Case("others may share it", gpu_node("a", "g0"), gang(1, more=SMALL, labels={"workload": "training"}),
         gang(2, name="more", more=SMALL), conf=EXCLUSIVE, binds="a aa"),
    Case("rules are about each other, too", gpu_node("a", "g0"), gang(1, more=SMALL, labels={"workload": "training"}),
         gang(1, name="more", more=SMALL, labels={"workload": "batch", "urgent": "true"}), conf=EXCLUSIVE, binds="a -"),
    Case("all labels of a rule must be there", gpu_node("a", "g0"), gang(2, more=SMALL, labels={"workload": "batch"}),
         conf=EXCLUSIVE, binds="aa"),
    Case("with those that run", gpu_node("a", "g0"), old("a", having("g0:100"), labels={"workload": "training"}),
         gang(1, more=SMALL, labels={"workload": "training"}), conf=EXCLUSIVE, binds="-"),
]  # fmt: skip

PREFERENCES = [
    Case("full GPUs first", gpu_node("a", "g0"), gpu_node("b", "g1"), old("b", having("g1:4000")),
         gang(1, more=vgpu(memory=4000)), conf=BINPACK, binds="b"),
    Case("idle GPUs first", gpu_node("a", "g0"), gpu_node("b", "g1"), old("a", having("g0:4000")),
         gang(1, more=vgpu(memory=4000)), conf=SPREAD, binds="b"),
    Case("no weight, no preference", gpu_node("a", "g0"), gpu_node("b", "g1"), old("b", having("g1:4000")),
         gang(1, more=vgpu(memory=4000)), conf=sharing(VGPUEnable=True, SchedulePolicy="binpack"), binds="a"),
    Case("each placement counts for the next", [gpu_node(n, f"g{n}") for n in "ab"], gang(4, more=HALF), conf=SPREAD,
         binds="abab"),
    Case("one node is filled", [gpu_node(n, f"g{n}") for n in "ab"], gang(3, more=vgpu(memory=4000)), conf=BINPACK,
         binds="aaa"),
    Case("a larger fraction of a small GPU", gpu_node("a", "g0", memory=32000), gpu_node("b", "g1", memory=8000),
         gang(1, more=vgpu(memory=4000)), conf=BINPACK, binds="b"),
]  # fmt: skip

ONE_SET = """
nvidia:
  knownMigGeometries:
  - models: [X1]
    allowedGeometries:
    - group: only
      geometries:
      - {name: 1g, memory: 8000, count: 2}
"""
MIG = gpu_node("a", "g0", memory=40960, kind=A100, mode="mig")

INSTANCES = [
    Case("seven of the smallest", MIG, gang(8, more=vgpu(memory=5000), minimum=1), conf=VGPU, binds="aaaaaaa-"),
    Case("a set once chosen stays", MIG, gang(1, more=vgpu(memory=20000)), gang(1, name="more", more=vgpu(memory=3000)),
         gang(1, name="rest", more=vgpu(memory=3000)), conf=VGPU, binds="a a -"),
    Case("the whole GPU", MIG, gang(2, more=vgpu(), minimum=1), conf=VGPU, binds="a-"),
    Case("more than there is", MIG, gang(1, more=vgpu(memory=50000)), conf=VGPU, binds="-"),
    Case("an unknown model", gpu_node("a", "g0", kind="NVIDIA-X1", mode="mig"), gang(1, more=HALF), conf=VGPU,
         binds="-"),
    Case("geometries from the ConfigMap", gpu_node("a", "g0", kind="NVIDIA-X1", mode="mig"), device_config(
        ONE_SET), gang(3, more=HALF, minimum=1), conf=VGPU, binds="aa-"),
    Case("of the ConfigMap that is named", gpu_node("a", "g0", kind="NVIDIA-X1", mode="mig"), device_config(
        ONE_SET, "mine", "devices"), gang(3, more=HALF, minimum=1), binds="aa-",
         conf=sharing(VGPUEnable=True, KnownGeometriesCMName="mine", KnownGeometriesCMNamespace="devices")),
    Case("an invalid ConfigMap", MIG, device_config("nvidia: 7"), gang(1, more=HALF), conf=VGPU, binds="a",
         warnings=["ConfigMap kube-system/volcano-vgpu-device-config: device-config.yaml: nvidia must be a mapping; "
                   "the default geometries are used"]),
    Case("both modes in one cluster", MIG, gpu_node("b", "g1"), noted("volcano.sh/vgpu-mode", "hami-core"),
         noted("volcano.sh/vgpu-mode", "mig", name="more"), conf=VGPU, binds="b a"),
]  # fmt: skip

MEGABYTES = "volcano.sh/gpu-memory"
WHOLE = "volcano.sh/gpu-number"

SHARED = [
    Case("memory of one GPU", shared_gpus("a", 2, 16000), gang(3, more={MEGABYTES: 5000}, minimum=1), conf=MEMORY,
         binds="aa-"),
    Case("what runs on a GPU", shared_gpus("a", 2, 16000), gang_of(pod(1, nodeName="a", more={MEGABYTES: 6000},
         annotations={GPU_INDEX: "1"}), name="old", minimum=0), gang(2, more={MEGABYTES: 8000}, minimum=1), conf=MEMORY,
         binds="a-"),
    Case("a sick GPU", shared_gpus("a", 2, 16000, unhealthy="0"), gang(2, more={MEGABYTES: 5000}, minimum=1),
         conf=MEMORY,
         binds="a-"),
    Case("containers of a pod share one GPU", shared_gpus("a", 2, 16000), gang(1, containers=[
         {"name": n, "resources": {"limits": {MEGABYTES: 5000}}} for n in ("one", "two")]), conf=MEMORY, binds="-"),
    Case("bad sick GPUs", shared_gpus("a", 2, 16000, unhealthy="zero"), gang(1, more={MEGABYTES: 5}), conf=MEMORY,
         binds="-",
         warnings=["Node a: annotation volcano.sh/gpu-unhealthy-ids: expected numbers such as 0,1, got 'zero'; "
                              "its devices are not used"]),
    Case("whole GPUs", shared_gpus("a", 4, 0), gang(2, more={WHOLE: 2}), conf=NUMBER, binds="aa"),
    Case("whole GPUs that are idle", shared_gpus("a", 2, 0), gang_of(pod(1, nodeName="a", more={WHOLE: 1},
         annotations={GPU_INDEX: "0"}), name="old", minimum=0), gang(1, more={WHOLE: 1}),
         gang(1, name="more", more={WHOLE: 1}), conf=NUMBER, binds="a -"),
    Case("a sick one of them", shared_gpus("a", 2, 0, unhealthy="1"), gang(1, more={WHOLE: 2}), conf=NUMBER, binds="-"),
]  # fmt: skip

PART = npu(memory=3000)

ASCEND = [
    Case("fractions of a chip", npus("a", "n0"), gang(8, more=PART, minimum=1), conf=HAMI, binds="aaaaaaa-"),
    Case("a fraction is rounded up", npus("a", "n0"), gang(2, more=npu(memory=6145), minimum=1), conf=HAMI, binds="a-"),
    Case("a whole chip", npus("a", "n0", "n1"), gang(3, more=npu(), minimum=1), conf=HAMI, binds="aa-"),
    Case("two whole chips", npus("a", "n0", "n1"), gang(1, more=npu(2)), conf=HAMI, binds="a"),
    Case("no fractions of two chips", npus("a", "n0", "n1"), gang(1, more=npu(2, memory=1024)), conf=HAMI, binds="-"),
    Case("more than a chip has", npus("a", "n0"), gang(1, more=npu(memory=24577)), conf=HAMI, binds="-"),
    Case("chips of another kind", npus("a", "n0", chip="Ascend910A", memory=32768, cores=30), gang(1, more=PART),
         conf=HAMI, binds="-"),
    Case("this very chip", npus("a", "n0"), npus("b", "n1"), gang(1, more=PART,
         annotations={"hami.io/use-Ascend310P-uuid": "n1"}), conf=HAMI, binds="b"),
    Case("a sick chip", npus("a", "n0", health=False), npus("b", "n1"), gang(1, more=PART), conf=HAMI, binds="b"),
    Case("cut by software", npus("a", "n0", mode="hami-core", cores=100), gang(3, more=npu(memory=5000, cores=40),
         annotations={"huawei.com/vnpu-mode": "hami-core"}, minimum=1), conf=HAMI, binds="aa-"),
    Case("which the node must support", npus("a", "n0"), gang(1, more=PART,
         annotations={"huawei.com/vnpu-mode": "hami-core"}), conf=HAMI, binds="-"),
    Case("templates from the ConfigMap", npus("a", "n0"), device_config(
         "vnpus:\n- {commonWord: Ascend310P, memoryAllocatable: 21527, memoryCapacity: 24576, aiCore: 8, templates: "
         "[{name: half, memory: 10000, aiCore: 4}]}\n"), gang(3, more=PART, minimum=1), conf=HAMI, binds="aa-"),
    Case("a registration that is no JSON", npus("a", "n0") | {"metadata": {"name": "a", "uid": "a",
         "annotations": {"hami.io/node-register-Ascend310P": "n0"}}}, npus("b", "n1"), gang(1, more=PART), conf=HAMI,
         binds="b",
         warnings=["Node a: annotation hami.io/node-register-Ascend310P: expected a list of devices in JSON, "
                              "got 'n0'; its devices are not used"]),
]  # fmt: skip


def cores(number: int, **labels: str) -> Facts:
    labels = {"ring-controller.atlas": "ascend-310P", **{f"vnpu-{key}": value for key, value in labels.items()}}
    return {"more": {"huawei.com/npu-core": number}, "labels": labels}


CUT = [
    Case("cores of one chip", chips("a", 1), gang(3, **cores(4), minimum=1), conf=MIND_CLUSTER, binds="aa-"),
    Case("whole chips", chips("a", 2), gang(1, **cores(16)), conf=MIND_CLUSTER, binds="a"),
    Case("a whole chip must be idle", chips("a", 2), gang(1, **cores(1)), gang(1, name="more", **cores(8)),
         gang(1, name="rest", **cores(8)), conf=MIND_CLUSTER, binds="a a -"),
    Case("chips are filled up", chips("a", 2), gang(2, **cores(2)), gang(1, name="more", **cores(8)), conf=MIND_CLUSTER,
         binds="aa a"),
    Case("no template is large enough", chips("a", 1), gang(1, **cores(3)), conf=MIND_CLUSTER, binds="-"),
    Case("pods without the label", chips("a", 1), gang(1, more={"huawei.com/npu-core": 1}), conf=MIND_CLUSTER,
         binds="-"),
    Case("pictures once per chip", chips("a", 1), gang(2, **cores(4, dvpp="yes"), minimum=1), conf=MIND_CLUSTER,
         binds="a-"),
    Case("a level for two cores alone", chips("a", 1), gang(1, **cores(2, dvpp="yes")), conf=MIND_CLUSTER, binds="-"),
    Case("bad server type", chips("a", 1, servertype="Ascend"), gang(1, **cores(1)), conf=MIND_CLUSTER, binds="-",
         warnings=["Node a: label servertype: expected a type such as Ascend310P-8, got 'Ascend'; its devices are "
                   "not used"]),
]  # fmt: skip

URGENT = [priority_class("urgent", 100), priority_class("lazy", 1)]
PREEMPTING = sharing(plugin("priority"), VGPUEnable=True, actions="enqueue, allocate, preempt")


def lazy(places: str, *holdings: Mapping[str, str], **facts: str) -> list[Manifest]:
    members = [
        pod(1, nodeName=place, annotations=dict(given), more=dict(HALF), priorityClassName="lazy")
        for place, given in zip(places, holdings, strict=True)
    ]
    return gang_of(*members, name="old", minimum=0, phase="Running", priority="lazy", **facts)


CONTENTION = [
    Case("a device is made free", gpu_node("a", "g0"), URGENT, lazy("aa", having("g0:8000"), having("g0:8000")),
         gang(1, more=HALF, priority="urgent", priorityClassName="urgent"), conf=PREEMPTING, binds="A",
         evicts=["old-task-1"]),
    Case("both halves of one GPU", TWO, URGENT,
         lazy("aaaa", having("g0:8000"), having("g1:8000"), having("g0:8000"), having("g1:8000")),
         gang(1, more=vgpu(memory=16000), priority="urgent", priorityClassName="urgent"), conf=PREEMPTING, binds="A",
         evicts=["old-task-1", "old-task-3"]),
    Case("no eviction in vain", gpu_node("a", "g0"), URGENT, lazy("a", having("g0:8000")),
         gang(1, more=vgpu(memory=17000), priority="urgent", priorityClassName="urgent"), conf=PREEMPTING, binds="-"),
    Case("no pod is evicted while a GPU is idle", TWO, URGENT, lazy("aa", having("g0:8000"), having("g0:8000")),
         gang(1, more=HALF, priority="urgent", priorityClassName="urgent"), conf=PREEMPTING, binds="a"),
]  # fmt: skip

CONSOLIDATING = sharing(plugin("conformance"), VGPUEnable=True, actions="enqueue, allocate, consolidate")
BOTH = gang(1, more=vgpu(2, 16000), name="large")

PROMISED = [
    Case("a device is kept for the pod for which it was freed", gpu_node("a", "g0"), URGENT, queue("another"),
         queue("later"),
         lazy("a", having("g0:16000"), queue="later"),
         gang(1, more=vgpu(memory=4000), name="other", queue="another"),
         gang(1, more=vgpu(memory=16000), priority="urgent", priorityClassName="urgent", queue="later"),
         conf=PREEMPTING, cycles=2, binds="- a", evicts=["old-task-0"]),
    Case("not more of it than was nominated", gpu_node("a", "g0"), URGENT, queue("another"), queue("later"),
         lazy("a", having("g0:16000"), queue="later"),
         gang(1, more=vgpu(memory=4000), name="other", queue="another"),
         gang(1, more=vgpu(memory=12000), priority="urgent", priorityClassName="urgent", queue="later"),
         conf=PREEMPTING, cycles=2, binds="a a", evicts=["old-task-0"]),
]  # fmt: skip

MOVES = [
    Case("a moved pod gets devices elsewhere", TWO, gpu_node("b", "g2"), old("a", having("g0:8000")), BOTH,
         conf=CONSOLIDATING, binds="A", evicts=["old-task-0"]),
    Case("a pod without devices elsewhere does not move", TWO, gpu_node("b", "g2"), old("a", having("g0:8000")),
         foreign("b", more=HALF, annotations=having("g2:9000")), BOTH, conf=CONSOLIDATING, binds="-"),
    Case("two moved pods share one", TWO, gpu_node("b", "g2"), old("aa", having("g0:8000"), having("g1:8000")), BOTH,
         conf=CONSOLIDATING, binds="A", evicts=["old-task-0", "old-task-1"]),
    Case("three cannot", TWO, gpu_node("b", "g2"), old("aaa", having("g0:8000"), having("g1:8000"), having("g1:8000")),
         BOTH, conf=CONSOLIDATING, binds="-"),
    Case("a moved pod gets another device of its node", TWO, old("aa", having("g0:8000"), having("g1:8000")),
         gang(1, more=vgpu(1, 16000), name="large"), conf=CONSOLIDATING, binds="A", evicts=["old-task-1"]),
]  # fmt: skip

CASES = [
    *MEMORY_AND_CORES, *WHAT_RUNS, *REQUESTS, *RULES, *PREFERENCES, *INSTANCES, *SHARED, *ASCEND, *CUT, *CONTENTION,
    *MOVES, *PROMISED,
]  # fmt: skip


class Given:
    """A case, and the devices of its pods in order; containers are separated by semicolons."""

    def __init__(self, name: str, *objects: object, conf: str, key: str, devices: str) -> None:
        self.case = Case(name, *objects, conf=conf, binds="")
        self.key, self.devices = key, devices

    def __str__(self) -> str:
        return self.case.name


THREE = gpu_node("a", "g0", "g1", "g2")
ALLOCATED = "hami.io/Ascend310P-devices-allocated"

GIVEN = [
    Given("the last GPU first", THREE, gang(1, more=HALF), conf=VGPU, key=VGPU_IDS, devices="g2"),
    Given("then the others", THREE, gang(3, more=vgpu()), conf=VGPU, key=VGPU_IDS, devices="g2, g1, g0"),
    Given("binpack: one GPU is filled", THREE, gang(3, more=HALF), conf=BINPACK, key=VGPU_IDS, devices="g2, g2, g1"),
    Given("binpack: the fullest that fits", THREE, old("aa", having("g0:12000"), having("g1:4000")),
          gang(1, more=HALF), conf=BINPACK, key=VGPU_IDS, devices="g1"),
    Given("spread: idle GPUs first", THREE, old("a", having("g2:4000")), gang(3, more=vgpu(memory=100)), conf=SPREAD,
          key=VGPU_IDS, devices="g1, g0, g2"),
    Given("containers in their order", THREE, gang(1, containers=[
          {"name": "one", "resources": {"limits": vgpu(memory=12000)}}, {"name": "none"},
          {"name": "two", "resources": {"limits": vgpu(2, 8000)}}]), conf=VGPU, key=VGPU_IDS, devices="g2;;g1 g0"),
    Given("instances by number", MIG, gang(3, more=vgpu(memory=9000)), conf=VGPU, key=VGPU_IDS,
          devices="g0[group2-0], g0[group2-1], g0[group2-2]"),
    Given("the smallest instance of the set in force", MIG, old("a", {VGPU_IDS: "g0[group2-0],NVIDIA,10240,0:"}),
          gang(2, more=vgpu(memory=5000)), conf=VGPU, key=VGPU_IDS, devices="g0[group2-3], g0[group2-1]"),
    Given("by index, the first that has enough", shared_gpus("a", 2, 16000), gang(3, more={MEGABYTES: 4000}),
          conf=MEMORY,
          key=GPU_INDEX, devices="0, 0, 1"),
    Given("several by index", shared_gpus("a", 4, 0), gang(2, more={WHOLE: 2}), conf=NUMBER, key=GPU_INDEX,
          devices="0,1, 2,3"),
    Given("chips", npus("a", "n0", "n1"), gang(2, more=npu(memory=12000)), conf=HAMI, key=ALLOCATED, devices="n1, n0"),
    Given("a fraction of a chip, low", chips("a", 1), gang(1, **cores(2)), conf=MIND_CLUSTER, key="huawei.com/npu-core",
          devices="0-vir02_1c"),
    Given("a fraction of a chip, high", chips("a", 1), gang(1, **cores(4, level="high")), conf=MIND_CLUSTER,
          key="huawei.com/npu-core", devices="0-vir04"),
    Given("high, but not as much left", chips("a", 1), gang(2, **cores(4, level="high")), conf=MIND_CLUSTER,
          key="huawei.com/npu-core", devices="0-vir04, 0-vir04_3c"),
    Given("whole chips by number", chips("a", 3), gang(1, **cores(16)), conf=MIND_CLUSTER, key="huawei.com/npu-core",
          devices="0,1"),
]  # fmt: skip


@pytest.mark.parametrize("case", GIVEN, ids=str)
def test_pods_count_as_assigned(case: Given) -> None:
    found = [given[case.key] for _, given in sorted(bind_annotations_of(case.case).items())]
    assert ", ".join(ids_in(text) if "," in text and ":" in text else text for text in found) == case.devices


def test_annotations_for_vgpu_device_plugin() -> None:
    case = Case("", TWO, gang(1, more=vgpu(memory=8000, cores=30)), binds="")
    text = "g1,NVIDIA,8000,30:"
    assert bind_annotations_of(case, VGPU) == {
        "gang-task-0": {
            "volcano.sh/vgpu-ids-new": text,
            "volcano.sh/devices-to-allocate": text,
            "volcano.sh/vgpu-node": "a",
            "volcano.sh/vgpu-time": "0",
            "volcano.sh/bind-phase": "allocating",
            "volcano.sh/bind-time": "0",
        }
    }


def test_annotations_for_npu_device_plugin() -> None:
    case = Case("", npus("a", "n0"), gang(1, more=PART), binds="")
    [given] = bind_annotations_of(case, HAMI).values()
    assert given["hami.io/Ascend310P-devices-to-allocate"] == "n0,Ascend310P,3072,1:"
    assert given["huawei.com/Ascend310P"] == '[{"UUID": "n0", "temp": "vir01"}]'
    assert (given["hami.io/vgpu-node"], given["hami.io/bind-phase"]) == ("a", "allocating")


@pytest.mark.parametrize(
    ("conf", "objects", "lock"),
    [
        (sharing(VGPUEnable=True, NodeLockEnable=True), (TWO, gang(1, more=HALF)), "volcano.sh/mutex.lock"),
        (sharing(AscendHAMiVNPUEnable=True, NodeLockEnable=True), (npus("a", "n0"), gang(1, more=PART)),
         "hami.io/mutex.lock"),
        (sharing(VGPUEnable=True), (TWO, gang(1, more=HALF)), None),
        (sharing(VGPUEnable=True, NodeLockEnable=True), (TWO, gang(1)), None),
    ],
    ids=["virtual GPUs", "chips", "not switched on", "no devices"],
)  # fmt: skip
def test_bind_requires_lock_of_its_node(conf: str, objects: tuple[object, ...], lock: str | None) -> None:
    [given] = bind_annotations_of(Case("", *objects, binds=""), conf).values()
    assert given.get("stromboli.dev/node-lock") == lock


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"GPUSharingEnable": True, "GPUNumberEnable": True}, "cannot be true together"),
        ({"GPUSharingEnable": True, "VGPUEnable": True}, "would count the same GPUs twice"),
        ({"GPUNumberEnable": True, "VGPUEnable": True}, "deviceshare.GPUNumberEnable and deviceshare.VGPUEnable"),
        ({"VGPUEnable": True, "GPUExclusiveRules": ["training"]}, "expected labels such as workloadType: training"),
        ({"SchedulePolicy": "pack"}, "expected  or binpack or spread"),
    ],
)
def test_invalid_configuration(given: dict[str, Any], words: str) -> None:
    with pytest.raises((PluginFailure, ConfigurationError), match=words):
        Case("", TWO, binds="").plan(sharing(**given))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    case.check()
