"""Processors of pods: how many they want for themselves, and which they were given."""

from __future__ import annotations

import json
from collections.abc import Iterator

from stromboli import kube
from stromboli.core.model.nodes.numa import PROCESSORS, CpuSet, parse_cpus
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.kube.objects.pod import Container

_GUARANTEED = ("cpu", "memory")


def requested_cpus(pod: kube.Pod) -> str | None:
    """What containers of a guaranteed pod want for themselves, such as `main=4,side=1`; None for any other pod.

    Where resources are given for the whole pod, the kubelet gives no container processors of its own.
    """
    if pod.spec.resources is not None or not _is_guaranteed(pod):
        return None
    lasting = (one for one in pod.spec.init_containers or () if one.restart_policy == "Always")
    wanted = ((one.name or "", _whole_cpus(one)) for one in (*lasting, *(pod.spec.containers or ())))
    return ",".join(f"{name}={number}" for name, number in wanted if number)


def _is_guaranteed(pod: kube.Pod) -> bool:
    """Whether every container has a limit for cpu and memory, and asks for exactly that."""
    containers = (*(pod.spec.containers or ()), *(pod.spec.init_containers or ()))
    return bool(containers) and all(_asks_for_its_limit(one, name) for one in containers for name in _GUARANTEED)


def _asks_for_its_limit(container: Container, name: str) -> bool:
    resources = container.resources
    limit = (resources.limits or {}).get(name) if resources else None
    if resources is None or limit is None:
        return False
    asked = (resources.requests or {}).get(name, limit)
    return bool(_amount(limit)) and _amount(asked) == _amount(limit)


def _whole_cpus(container: Container) -> int:
    """The processors of a container that asks for a whole number of them; others share what is left."""
    limits = (container.resources.limits if container.resources else None) or {}
    number, part = divmod(_amount(limits["cpu"]), 1000)
    return 0 if part else number


def _amount(quantity: str | float) -> int:
    return parse_quantity(quantity, milli=True)


def assigned_cpus(text: str, most: int) -> CpuSet:
    """The processors that an annotation names for the containers of a pod that asks for so many. Raises ValueError."""
    try:
        cpus = _read(text)
    except ValueError as error:
        raise ValueError(f"annotation {PROCESSORS}: {error}") from None
    if cpus.bit_count() > most:
        raise ValueError(f"annotation {PROCESSORS}: it names {cpus.bit_count()} processors and the pod asks for {most}")
    return cpus


def _read(text: str) -> CpuSet:
    cpus = 0
    for each in _lists(text):
        cpus |= parse_cpus(each)
    return cpus


def _lists(text: str) -> Iterator[str]:
    try:
        containers = json.loads(text)
    except (ValueError, RecursionError):
        containers = None
    if not isinstance(containers, dict) or not all(isinstance(each, str) for each in containers.values()):
        raise ValueError('expected lists of processors by container, such as {"main": "0-3"}')
    yield from containers.values()
