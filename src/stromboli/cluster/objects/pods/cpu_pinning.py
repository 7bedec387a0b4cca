"""CPU pinning of pods: how many exclusive CPUs containers request, and which ones were assigned."""

from __future__ import annotations

import json

from stromboli import kube
from stromboli.core.model.nodes.numa import PROCESSORS, CpuSet, parse_cpus
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.kube.objects.pod import Container

_GUARANTEED = ("cpu", "memory")


def requested_cpus(pod: kube.Pod) -> str | None:
    """Exclusive CPUs that the containers of a Guaranteed pod request, such as `main=4,side=1`; None for any other pod.

    With pod-level resources, the kubelet assigns no exclusive CPUs to containers.
    """
    containers = (*(pod.spec.containers or ()), *(pod.spec.init_containers or ()))
    if pod.spec.resources is not None or not containers:
        return None
    if not all(_requests_its_limit(one, name) for one in containers for name in _GUARANTEED):
        return None
    lasting = (one for one in pod.spec.init_containers or () if one.restart_policy == "Always")
    wanted = ((one.name or "", _whole_cpus(one)) for one in (*lasting, *(pod.spec.containers or ())))
    return ",".join(f"{name}={number}" for name, number in wanted if number)


def _requests_its_limit(container: Container, name: str) -> bool:
    resources = container.resources
    limit = (resources.limits or {}).get(name) if resources else None
    if resources is None or limit is None:
        return False
    requested = (resources.requests or {}).get(name, limit)
    return bool(_amount(limit)) and _amount(requested) == _amount(limit)


def _whole_cpus(container: Container) -> int:
    """The CPUs of a container that requests a whole number; other containers run on the shared pool."""
    limits = (container.resources.limits if container.resources else None) or {}
    number, part = divmod(_amount(limits["cpu"]), 1000)
    return 0 if part else number


def _amount(quantity: str | float) -> int:
    return parse_quantity(quantity, milli=True)


def assigned_cpus(text: str, most: int) -> CpuSet:
    """The CPUs that an annotation assigns to the containers of a pod with this request. Raises ValueError."""
    try:
        cpus = _read(text)
    except ValueError as error:
        raise ValueError(f"annotation {PROCESSORS}: {error}") from None
    if cpus.bit_count() > most:
        raise ValueError(f"annotation {PROCESSORS}: it names {cpus.bit_count()} CPUs and the pod requests {most}")
    return cpus


def _read(text: str) -> CpuSet:
    try:
        containers = json.loads(text)
    except (ValueError, RecursionError):
        containers = None
    if not isinstance(containers, dict) or not all(isinstance(each, str) for each in containers.values()):
        raise ValueError('expected lists of CPUs by container, such as {"main": "0-3"}')
    cpus = 0
    for each in containers.values():
        cpus |= parse_cpus(each)
    return cpus
