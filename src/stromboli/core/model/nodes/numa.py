"""The processors of a node: where they lie, and who may have which.

A node consists of *cells* (NUMA nodes): processors with memory of their own, to which others have a longer way. A set
of processors is a whole number with a bit for each of them, so that sets are intersected and counted in one step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

#: Bit n stands for processor n.
CpuSet = int

#: More processors, and more cells, than any node has.
MAX_PROCESSORS, MAX_NUMA_NODES = 4096, 64

#: The policy that a pod asks for.
POLICY = "volcano.sh/numa-topology-policy"
#: How many processors of each cell a pod was given, as Volcano writes it.
DECISION = "volcano.sh/topology-decision"
#: Which processors each container of a pod was given: for all that nobody else can know yet.
PROCESSORS = "stromboli.dev/processors"

#: Stands among the annotations that a plugin may read for the processors that containers of a guaranteed pod want for
#: themselves, such as `main=4,side=1`; it is there, and perhaps empty, for every guaranteed pod and for no other.
WANTED = "stromboli.dev/wanted-processors"

NONE, BEST_EFFORT, RESTRICTED, SINGLE = "none", "best-effort", "restricted", "single-numa-node"
POLICIES = (NONE, BEST_EFFORT, RESTRICTED, SINGLE)

Unit = TypeVar("Unit", int, tuple[int, int])

_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


class Processor(NamedTuple):
    """One processor: its number, and the cell, socket and core that it is part of."""

    number: int
    cell: int
    socket: int
    core: int


@dataclass(frozen=True)
class Processors:
    """How the processors of a node lie, and how its kubelet hands them out."""

    #: The kubelet's policies for processors and for cells.
    manager: str
    policy: str
    places: tuple[Processor, ...]
    #: Kept for the system.
    reserved: CpuSet = 0
    #: Whether the node says which processors it has to give.
    gives: bool = True

    @property
    def aligns(self) -> bool:
        """Whether the kubelet looks at cells when it gives containers processors of their own."""
        return self.manager == "static" and self.policy in (BEST_EFFORT, RESTRICTED, SINGLE) and self.gives

    @cached_property
    def cells(self) -> Mapping[int, CpuSet]:
        """The processors of every cell, by its number."""
        return _grouped((place.cell, place.number) for place in self.places)

    @cached_property
    def sockets(self) -> tuple[CpuSet, ...]:
        return tuple(_grouped((place.socket, place.number) for place in self.places).values())

    @cached_property
    def cores(self) -> tuple[CpuSet, ...]:
        return tuple(_grouped(((place.socket, place.core), place.number) for place in self.places).values())

    @cached_property
    def socket_of(self) -> Mapping[int, CpuSet]:
        """By the number of a processor, all that share its socket."""
        return {number: socket for socket in self.sockets for number in numbers_of(socket)}

    @cached_property
    def core_of(self) -> Mapping[int, CpuSet]:
        """By the number of a processor, all that share its core."""
        return {number: core for core in self.cores for number in numbers_of(core)}

    @cached_property
    def all(self) -> CpuSet:
        return set_of(place.number for place in self.places)

    def numa_nodes_of(self, cpus: CpuSet) -> list[int]:
        """The cells in which these processors lie."""
        return [number for number, cell in self.cells.items() if cell & cpus]


@dataclass(frozen=True, slots=True)
class Holdings:
    """Who has which processors of a node at the start of a cycle."""

    #: Those that nobody has.
    free: CpuSet
    #: Those of pods that are leaving or gone, as long as the node has not said that they are free.
    leaving: CpuSet
    #: By the uid of a pod, those that it has.
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
    """The processors of a set, in order."""
    while cpus:
        lowest = cpus & -cpus
        yield lowest.bit_length() - 1
        cpus ^= lowest


def parse_cpus(text: str) -> CpuSet:
    """The set that a list such as `0-3,8` names. Raises ValueError for any other text."""
    cpus = 0
    for part in text.split(",") if text.strip() else ():
        found = _RANGE.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if not first <= last < MAX_PROCESSORS:
            raise ValueError(f"{part.strip()[:40]!r} is no processor and no range of them; write a list such as 0-3,8")
        cpus |= (1 << last + 1) - (1 << first)
    return cpus


def format_cpus(cpus: CpuSet) -> str:
    """A set as such a list."""
    ranges: list[list[int]] = []
    for number in numbers_of(cpus):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
