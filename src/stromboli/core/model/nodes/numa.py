"""The processors of a node: their layout and their assignment.

A node consists of NUMA nodes: processors with local memory. A set of processors is an integer with a bit for each of
them, so that sets are intersected and counted in one step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

#: Bit n is processor n.
CpuSet = int

#: More processors, and more NUMA nodes, than any node has.
MAX_PROCESSORS, MAX_NUMA_NODES = 4096, 64

#: The policy that a pod requests.
POLICY = "volcano.sh/numa-topology-policy"
#: How many processors of each NUMA node a pod was assigned, in Volcano's format.
DECISION = "volcano.sh/topology-decision"
#: Which processors each container of a pod was assigned: for readers that cannot see the kubelet's decision yet.
PROCESSORS = "stromboli.dev/processors"

#: Pseudo-annotation that a plugin may read: the exclusive processors that containers of a guaranteed pod request, such
#: as `main=4,side=1`; present, possibly empty, for every guaranteed pod and for no other.
WANTED = "stromboli.dev/wanted-processors"

NONE, BEST_EFFORT, RESTRICTED, SINGLE = "none", "best-effort", "restricted", "single-numa-node"
POLICIES = (NONE, BEST_EFFORT, RESTRICTED, SINGLE)

Unit = TypeVar("Unit", int, tuple[int, int])

_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


class Processor(NamedTuple):
    """One processor: its number, and its NUMA node, socket and core."""

    number: int
    numa_node: int
    socket: int
    core: int


@dataclass(frozen=True)
class Processors:
    """The layout of a node's processors, and the policies of its kubelet."""

    #: The kubelet's CPU manager and topology manager policies.
    manager: str
    policy: str
    places: tuple[Processor, ...]
    #: Reserved for the system.
    reserved: CpuSet = 0
    #: Whether the node reports its allocatable processors.
    gives: bool = True

    @property
    def aligns(self) -> bool:
        """Report whether the kubelet aligns exclusive processors to NUMA nodes."""
        return self.manager == "static" and self.policy in (BEST_EFFORT, RESTRICTED, SINGLE) and self.gives

    @cached_property
    def numa_nodes(self) -> Mapping[int, CpuSet]:
        """The processors of every NUMA node, by its number."""
        return _grouped((place.numa_node, place.number) for place in self.places)

    @cached_property
    def sockets(self) -> tuple[CpuSet, ...]:
        return tuple(_grouped((place.socket, place.number) for place in self.places).values())

    @cached_property
    def cores(self) -> tuple[CpuSet, ...]:
        return tuple(_grouped(((place.socket, place.core), place.number) for place in self.places).values())

    @cached_property
    def socket_of(self) -> Mapping[int, CpuSet]:
        """All processors that share a socket with a processor, by its number."""
        return {number: socket for socket in self.sockets for number in numbers_of(socket)}

    @cached_property
    def core_of(self) -> Mapping[int, CpuSet]:
        """All processors that share a core with a processor, by its number."""
        return {number: core for core in self.cores for number in numbers_of(core)}

    @cached_property
    def all(self) -> CpuSet:
        return set_of(place.number for place in self.places)

    def numa_nodes_of(self, cpus: CpuSet) -> list[int]:
        """Return the NUMA nodes of these processors."""
        return [number for number, numa_node in self.numa_nodes.items() if numa_node & cpus]


@dataclass(frozen=True, slots=True)
class Holdings:
    """The assignment of a node's processors at the start of a cycle."""

    #: Unassigned processors.
    free: CpuSet
    #: Processors of pods that are terminating or gone, until the node reports them as free.
    leaving: CpuSet
    #: Assigned processors, by pod uid.
    held: Mapping[str, CpuSet]


def _grouped(entries: Iterable[tuple[Unit, int]]) -> dict[Unit, CpuSet]:
    groups: dict[Unit, CpuSet] = {}
    for unit, number in entries:
        groups[unit] = groups.get(unit, 0) | 1 << number
    return dict(sorted(groups.items()))


# -- sets of processors -------------------------------------------------------------------------------------------


def set_of(numbers: Iterable[int]) -> CpuSet:
    cpus = 0
    for number in numbers:
        cpus |= 1 << number
    return cpus


def numbers_of(cpus: CpuSet) -> Iterator[int]:
    """Return the processors of a set, in order."""
    while cpus:
        lowest = cpus & -cpus
        yield lowest.bit_length() - 1
        cpus ^= lowest


def parse_cpus(text: str) -> CpuSet:
    """Parse a list such as `0-3,8`. Raises ValueError for any other text."""
    cpus = 0
    for part in text.split(",") if text.strip() else ():
        found = _RANGE.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if not first <= last < MAX_PROCESSORS:
            raise ValueError(f"{part.strip()[:40]!r} is not a processor or a range; write a list such as 0-3,8")
        cpus |= (1 << last + 1) - (1 << first)
    return cpus


def format_cpus(cpus: CpuSet) -> str:
    """Format a set as a list such as `0-3,8`."""
    ranges: list[list[int]] = []
    for number in numbers_of(cpus):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
