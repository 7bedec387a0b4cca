"""Numatopologies: the CPUs of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stromboli.core.model.nodes.cpu_assignment import take
from stromboli.core.model.nodes.numa import (
    MAX_NUMA_NODES,
    MAX_PROCESSORS,
    NONE,
    POLICIES,
    CpuSet,
    Processor,
    Processors,
    format_cpus,
    parse_cpus,
)
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.kube.objects.topology import CpuPlace, Numatopology, PodAllocation

_MANAGER, _POLICY = "CPUManagerPolicy", "TopologyManagerPolicy"


@dataclass(frozen=True, slots=True)
class NodeProcessors:
    """The CPUs of a node as its Numatopology reports them."""

    facts: Processors
    #: CPUs that may be assigned to containers exclusively.
    allocatable: CpuSet
    #: CPUs of pods, by pod uid.
    allocated: Mapping[str, CpuSet]


def processors_of(wire: Numatopology) -> NodeProcessors:
    """Decode the object. Raises ValueError, with the field in front, for invalid content."""
    spec = wire.spec
    policies, resources = spec.policies or {}, spec.numares or {}
    policy = policies.get(_POLICY) or NONE
    if policy not in POLICIES:
        raise ValueError(f"spec.policies.{_POLICY}: {policy[:40]!r} is not known; write {' or '.join(POLICIES)}")
    listed = Processors(
        policies.get(_MANAGER) or NONE, policy, _places(spec.cpu_detail or {}), gives="cpu" in resources
    )
    offer = resources.get("cpu")
    allocatable = _cpus(offer.allocatable, "spec.numares.cpu.allocatable", listed) if offer is not None else 0
    reserved = _reserved(spec.res_reserved or {}, listed)
    return NodeProcessors(
        replace(listed, reserved=reserved), allocatable, _allocated(spec.pod_allocations or (), listed)
    )


def _places(details: Mapping[str, CpuPlace]) -> tuple[Processor, ...]:
    places = []
    for name, place in details.items():
        if not (name.isdecimal() and name.isascii() and len(name) < 6 and int(name) < MAX_PROCESSORS):
            raise ValueError(f"spec.cpuDetail.{name[:40]}: is not a processor; write numbers below {MAX_PROCESSORS}")
        where = (place.numa, place.socket, place.core)
        for field, value in zip(("numa", "socket", "core"), where, strict=True):
            if value is None or value < 0:
                raise ValueError(f"spec.cpuDetail.{name}.{field}: expected a number from 0 on, got {value}")
        places.append(Processor(int(name), *(value or 0 for value in where)))
    if (number := len({place.numa_node for place in places})) > MAX_NUMA_NODES:
        raise ValueError(f"spec.cpuDetail: {number} NUMA nodes are named; name at most {MAX_NUMA_NODES}")
    return tuple(sorted(places))


def _cpus(text: str | None, field: str, listed: Processors) -> CpuSet:
    """A set of CPUs, all of which must be listed."""
    try:
        cpus = parse_cpus(text or "")
    except ValueError as error:
        raise ValueError(f"{field}: {error}") from None
    if unknown := cpus & ~listed.all:
        raise ValueError(f"{field}: spec.cpuDetail does not say where processor {format_cpus(unknown)} lies")
    return cpus


def _reserved(reserved: Mapping[str, str], listed: Processors) -> CpuSet:
    """CPUs that the kubelet reserves for the system: the reported number, rounded up."""
    if "cpu" not in reserved:
        return 0
    try:
        number = -(-parse_quantity(reserved["cpu"], milli=True) // 1000)
    except ValueError as error:
        raise ValueError(f"spec.resReserved.cpu: {error}") from None
    if not 0 <= number <= len(listed.places):
        raise ValueError(f"spec.resReserved.cpu: {number} of {len(listed.places)} processors cannot be reserved")
    return take(listed, listed.all, number)


def _allocated(allocations: Sequence[PodAllocation], listed: Processors) -> dict[str, CpuSet]:
    allocated: dict[str, CpuSet] = {}
    for place, pod in enumerate(allocations):
        for number, container in enumerate(pod.container_allocations or ()):
            field = f"spec.podAllocations[{place}].containerAllocations[{number}].allocations.cpu"
            cpus = _cpus((container.allocations or {}).get("cpu"), field, listed)
            allocated[pod.uid or ""] = allocated.get(pod.uid or "", 0) | cpus
    return allocated
