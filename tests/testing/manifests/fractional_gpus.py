"""Nodes with GPUs that pods share by annotation, and pods that request or hold a fraction of one."""

from __future__ import annotations

from typing import Any

from stromboli.core.model.devices.gpu_fractions import GROUPS
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Manifest, node, pod
from tests.testing.manifests.shared_devices import bind_annotations_of

NAMESPACE = "stromboli-reservations"


def sharing(*beside: Any, actions: str = "enqueue, allocate, backfill", **given: object) -> str:
    """A configuration with gpusharing and these arguments of it."""
    arguments = {f"gpusharing.{key}": value for key, value in given.items()}
    return configuration("gang", "predicates", *beside, plugin("gpusharing", arguments), actions=actions)


SHARING = sharing()


def gpus(name: str, number: int, memory: object = None, **facts: Any) -> Manifest:
    """A node with this number of GPUs, and with this memory on each if it is set."""
    labels = {} if memory is None else {"nvidia.com/gpu.memory": str(memory)}
    return node(name, 64, gpu=number, labels={"node": name, **labels}, **facts)


def part(fraction: str, number: int | None = None, **more: str) -> dict[str, str]:
    """The annotations of a pod that requests this fraction of one or several GPUs."""
    return {"gpu-fraction": fraction, **({"gpu-fraction-num-devices": str(number)} if number else {}), **more}


def memory(amount: object, number: int | None = None) -> dict[str, str]:
    """The annotations of a pod that requests MiB of a GPU."""
    return {"gpu-memory": str(amount), **({"gpu-fraction-num-devices": str(number)} if number else {})}


def member(place: str, groups: str, wanted: dict[str, str] | None = None, **facts: Any) -> Manifest:
    """A pod that holds its fraction, half of a GPU by default."""
    return pod(1, nodeName=place, annotations={**(wanted or part("0.5")), GROUPS: groups}, **facts)


def reservation(place: str, group: str, **facts: Any) -> Manifest:
    """The pod that holds a whole GPU for the members of a group."""
    return pod(
        0, gpu=1, name=f"holds-{group}", namespace=NAMESPACE, nodeName=place, annotations={GROUPS: group},
        schedulerName="none", **facts,
    )  # fmt: skip


def gpu_groups_of(case: Case) -> dict[str, str]:
    """By name of the pod, its GPU groups, over all cycles of the case."""
    return {name: said[GROUPS] for name, said in bind_annotations_of(case).items() if GROUPS in said}
