"""Situations with KAI's queue model: jobs, queues and nodes in a line each, and where pods are in the end.

A situation runs several cycles, as a cluster does: what is bound runs, and what is evicted is created again and waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.devices.gpu_fractions import GROUPS
from stromboli.core.session.program import Program
from stromboli.kube.manifests.yaml import dump_documents
from stromboli.planner.plan import SchedulingPlan, make_plan
from tests.testing.cases.case import BUILT_IN, SCHEDULER_NAMES, flattened, key_of, objects
from tests.testing.manifests.builders import GPU, Manifest, gang_of, node, pod, priority_class
from tests.testing.manifests.builders import queue as queue_manifest
from tests.testing.manifests.hypernodes import policy

WEIGHT = "scheduling.stromboli.dev/over-quota-weight"
PREEMPTABLE = "volcano.sh/preemptable"
EXAMPLE = Path("examples/quotas/scheduler.conf")


def kai(**more: object) -> str:
    """The configuration of `examples/quotas`, with further arguments of capacity."""
    document = yaml.safe_load(EXAMPLE.read_text())
    plugins = [each for tier in document["tiers"] for each in tier["plugins"]]
    next(each for each in plugins if each["name"] == "capacity")["arguments"] |= more
    return dump_documents([document])


CONFIGURATION = kai()
CLASSES = [
    priority_class("train", 50),
    priority_class("build-preemptable", 75),
    priority_class("build", 100),
    priority_class("inference", 125),
]
#: Cycles until the expected end, and cycles after it in which nothing may change.
UNTIL, AFTER = 3, 4


def queue(name: str, deserved: object = 0, weight: object = 1, **facts: Any) -> Manifest:
    """A queue that deserves this many GPUs; `also` are deserved amounts of other resources, `most` is the limit of
    GPUs.
    """
    amounts = {GPU: str(deserved), **facts.pop("also", {})}
    most = facts.pop("most", None)
    capability = None if most is None else {GPU: str(most)}
    return queue_manifest(
        name, None, deserved=amounts, capability=capability, annotations={WEIGHT: str(weight)}, **facts
    )


def nodes(text: str, **facts: Any) -> list[Manifest]:
    """Nodes by name and number of GPUs: `a4 b4`."""
    return [node(each[0], facts.pop("cpu", 64), gpu=int(each[1:]), **facts) for each in text.split()]


def job(
    name: str,
    of: str,
    gpus: float = 1,
    on: str = "-",
    *,
    minimum: int | None = None,
    priority: str = "train",
    **more: Any,
) -> list[Manifest]:
    """A job of a queue, one pod for each letter of `on`: its node, or `-` for a waiting one. A fraction of a GPU is
    followed by the number of the device, such as `a0`.
    """
    created = more.pop("created", None)
    marks = more.pop("notes", None)
    if gpus and gpus < 1:
        places = on.split() if " " in on or len(on) == 2 else list(on)
        pods = [_fraction(gpus, place, **more) for place in places]
    else:
        pods = [_whole(int(gpus), place, **more) for place in on]
    return gang_of(*pods, name=name, minimum=minimum, queue=of, priority=priority, created=created, notes=marks)


def _whole(gpus: int, place: str, cpu: object = None, **more: Any) -> Manifest:
    return pod(cpu, gpu=gpus or None, **_placed(place), **more)


def _placed(place: str) -> dict[str, Any]:
    return {} if place == "-" else {"nodeName": place}


def _fraction(gpus: float, place: str, cpu: object = None, **more: Any) -> Manifest:
    annotations = {"gpu-fraction": str(gpus)}
    if place == "-":
        return pod(cpu, annotations=annotations, **more)
    return pod(cpu, nodeName=place[0], annotations={**annotations, GROUPS: f"device-{place}"}, **more)


def memory(name: str, of: str, mebibytes: int, on: str = "-", *, priority: str = "train") -> list[Manifest]:
    """A job of one pod with so much memory of a GPU; `on` is `-`, or its node and device."""
    annotations = {"gpu-memory": str(mebibytes)}
    if on != "-":
        annotations[GROUPS] = f"device-{on}"
    return gang_of(pod(None, annotations=annotations, **_placed(on[0])), name=name, queue=of, priority=priority)


def memory_nodes(text: str) -> list[Manifest]:
    """Nodes whose GPUs have 16,000 MiB each."""
    return nodes(text, labels={"nvidia.com/gpu.memory": "16000"})


def devices(name: str, of: str, portion: float, number: int, *, priority: str = "train") -> list[Manifest]:
    """A job of one pod with a fraction of each of several GPUs."""
    annotations = {"gpu-fraction": str(portion), "gpu-fraction-num-devices": str(number)}
    return gang_of(pod(None, annotations=annotations), name=name, queue=of, priority=priority)


def roles(name: str, of: str, minimums: Mapping[str, int], **places: str) -> list[Manifest]:
    """A job with a minimum for each role, and a letter for each pod of a role."""
    members = [pod(None, gpu=1, role=role, **_placed(place)) for role, on in places.items() for place in on]
    minimum = sum(minimums.values())
    return gang_of(*members, name=name, queue=of, priority="train", minimum=minimum, minimums=minimums)


def parts(
    name: str, of: str, size: int, *, gpus: int = 1, groups: int = 0, notes: Any = None, **places: str
) -> list[Manifest]:
    """A job with sub-groups of a size, `groups` of which it needs, and a letter for each pod of a sub-group."""
    members = [
        pod(None, gpu=gpus, labels={"part": part}, **_placed(place)) for part, on in places.items() for place in on
    ]
    minimum, cut = (size * groups or None), [policy("p", size, minimum=groups)]
    return gang_of(*members, name=name, queue=of, priority="train", minimum=minimum, policies=cut, notes=notes)


class Situation:
    """`ends` has a letter for each pod, in the order of the jobs: its node in the end, or `-`."""

    def __init__(
        self, name: str, *parts: Any, ends: str, conf: str = CONFIGURATION, until: int = UNTIL, settles: bool = True
    ) -> None:
        self.name = name
        self.manifests = [*CLASSES, *_aged(list(flattened(parts)))]
        self.ends = ends.replace(" ", "")
        self.program = Program(parse_configuration(conf, BUILT_IN), BUILT_IN)
        self.until = until
        self.quiet = AFTER if settles else 0

    def __str__(self) -> str:
        return self.name

    def check(self) -> None:
        manifests, states = self.manifests, [_places(self.manifests)]
        for _ in range(self.until + self.quiet):
            manifests = self.after(manifests, self.plan_of(manifests))
            states.append(_places(manifests))
        assert set(states[self.until :]) == {self.ends}, f"{self.name}: expected {self.ends}, got {states}"

    def plan_of(self, manifests: Sequence[Manifest]) -> SchedulingPlan:
        return make_plan(objects(manifests), self.program, cycles=1, scheduler_names=SCHEDULER_NAMES)

    @staticmethod
    def after(manifests: Sequence[Manifest], plan: SchedulingPlan) -> list[Manifest]:
        """The objects after a cycle, when its pods have started or are gone and created again. Nominations are lost."""
        devices = {f"{b.namespace}/{b.name}": b.annotations for part in plan.session.decisions.binds for b in part}
        return [_pod_after(each, plan, devices) if each["kind"] == "Pod" else each for each in manifests]


def _aged(manifests: Sequence[Manifest]) -> list[Manifest]:
    """Groups and their pods are created a minute after each other, unless they have a time."""
    aged, minute = [], 0
    for each in manifests:
        minute += each["kind"] == "PodGroup"
        created = f"2026-01-01T00:{minute:02}:00Z"
        aged.append({**each, "metadata": {"creationTimestamp": created, **each["metadata"]}})
    return aged


def _places(manifests: Sequence[Manifest]) -> str:
    return "".join(each["spec"].get("nodeName", "-") for each in manifests if each["kind"] == "Pod")


def _pod_after(manifest: Manifest, plan: SchedulingPlan, devices: Mapping[str, Mapping[str, str]]) -> Manifest:
    key, spec, metadata = key_of(manifest), manifest["spec"], manifest["metadata"]
    annotations = {name: text for name, text in metadata["annotations"].items() if name != GROUPS}
    if key in plan.binds:
        annotations |= devices.get(key, {})
        spec = {**spec, "nodeName": plan.binds[key]}
    elif key in plan.evictions:
        spec = {name: value for name, value in spec.items() if name != "nodeName"}
    else:
        return manifest
    status = {"phase": "Running" if "nodeName" in spec else "Pending"}
    return {**manifest, "spec": spec, "status": status, "metadata": {**metadata, "annotations": annotations}}


def nominated(manifests: list[Manifest], plan: SchedulingPlan) -> list[Manifest]:
    """The objects with the nominations that the scheduler writes."""
    return [
        {**each, "status": {**each["status"], "nominatedNodeName": plan.pipelined[key_of(each)]}}
        if each["kind"] == "Pod" and key_of(each) in plan.pipelined
        else each
        for each in manifests
    ]
