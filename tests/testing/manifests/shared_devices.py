"""Nodes with shared devices, pods that request a fraction of one, and their assigned devices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.session.program import Program
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, SCHEDULER_NAMES, Case, configuration, objects, plugin
from tests.testing.manifests.builders import Manifest, manifest, node

VGPU_IDS = "volcano.sh/vgpu-ids-new"
GPU_INDEX = "volcano.sh/gpu-index"
REGISTER = "volcano.sh/node-vgpu-register"
A100 = "NVIDIA-A100-SXM4-40GB"


def sharing(*beside: Any, actions: str = "enqueue, allocate, backfill", **given: object) -> str:
    """A configuration with deviceshare and these arguments of it."""
    arguments = {f"deviceshare.{key}": value for key, value in given.items()}
    return configuration("gang", "predicates", *beside, plugin("deviceshare", arguments), actions=actions)


VGPU = sharing(VGPUEnable=True)
MEMORY = sharing(GPUSharingEnable=True)
NUMBER = sharing(GPUNumberEnable=True)
HAMI = sharing(AscendHAMiVNPUEnable=True)
MIND_CLUSTER = sharing(AscendMindClusterVNPUEnable=True)


def cards(
    *ids: str, memory: int = 16000, count: int = 10, kind: str = "NVIDIA-V100", mode: str = "hami-core", sick: str = ""
) -> str:
    """GPUs as a node registers them."""
    return "".join(f"{each},{count},{memory},{kind},{str(each not in sick.split()).lower()},{mode}:" for each in ids)


def gpu_node(name: str, *ids: str, registered: str | None = None, cpu: object = 16, **facts: Any) -> Manifest:
    text = cards(*ids, **facts) if registered is None else registered
    more = {"volcano.sh/vgpu-number": 10 * max(len(ids), 1), "volcano.sh/vgpu-memory": 1}
    return node(name, cpu, more=more, annotations={REGISTER: text})


def vgpu(number: int = 1, memory: int = 0, cores: int = 0, percentage: int = 0) -> dict[str, int]:
    """What a container requests; 0 for what it leaves out."""
    parts = {"memory": memory, "cores": cores, "memory-percentage": percentage}
    return {
        "volcano.sh/vgpu-number": number,
        **{f"volcano.sh/vgpu-{part}": amount for part, amount in parts.items() if amount},
    }


def having(text: str, **more: str) -> dict[str, str]:
    """The annotation of a pod with virtual GPUs: `g0:8000` or `g0:8000:50` for each, containers apart."""
    containers = [[entry.split(":") for entry in part.split()] for part in text.split(";")]
    written = ";".join("".join(f"{i},NVIDIA,{m},{(*c, '0')[0]}:" for i, m, *c in each) for each in containers)
    return {VGPU_IDS: written, **more}


def shared_gpus(name: str, number: int, memory: int, unhealthy: str = "", cpu: object = 16) -> Manifest:
    """A node of Volcano's own device plugin."""
    more = {"volcano.sh/gpu-number": number, "volcano.sh/gpu-memory": memory}
    return node(name, cpu, more=more, annotations={"volcano.sh/gpu-unhealthy-ids": unhealthy} if unhealthy else {})


def npus(name: str, *ids: str, chip: str = "Ascend310P", memory: int = 21527, cores: int = 8, **facts: Any) -> Manifest:
    """A node of HAMi's device plugin for Ascend chips."""
    entries = [{"id": each, "count": 7, "devmem": memory, "devcore": cores, "type": chip, **facts} for each in ids]
    annotations = {f"hami.io/node-register-{chip}": json.dumps(entries)}
    return node(name, 16, more={f"huawei.com/{chip}": 7 * len(ids)}, annotations=annotations)


def npu(number: int = 1, memory: int = 0, cores: int = 0, chip: str = "Ascend310P") -> dict[str, int]:
    parts = {"": number, "-memory": memory, "-core": cores}
    return {f"huawei.com/{chip}{part}": amount for part, amount in parts.items() if amount}


def chips(name: str, number: int, **labels: str) -> Manifest:
    """A node of MindCluster."""
    return node(name, 64, more={"huawei.com/npu-core": 8 * number}, labels={"servertype": "Ascend310P-8", **labels})


def device_config(text: str, name: str = "volcano-vgpu-device-config", namespace: str = "kube-system") -> Manifest:
    return manifest("ConfigMap", name, namespace=namespace, data={"device-config.yaml": text})


def bind_annotations_of(case: Case, conf: str | None = None) -> dict[str, Mapping[str, str]]:
    """By name of the pod, the annotations of its binding, over all cycles of the case."""
    program = Program(parse_configuration(conf or case.conf, BUILT_IN), BUILT_IN)
    world = PlannedCluster(objects(case.manifests), program, scheduler_names=SCHEDULER_NAMES)
    found: dict[str, Mapping[str, str]] = {}
    for _ in range(case.cycles):
        for statement in world.run_cycle().decisions.binds:
            found |= {bind.name: bind.annotations for bind in statement}
    return found


def ids_in(text: str) -> str:
    """The devices of an annotation of HAMi's form, containers apart."""
    containers = text.split(";")
    return ";".join(" ".join(entry.split(",")[0] for entry in each.split(":") if entry) for each in containers)
