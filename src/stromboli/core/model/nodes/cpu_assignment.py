"""Which processors a container gets, as the kubelet would choose them.

Two questions. From how many cells must the processors come, and from which? And which ones of these? The answers follow
the kubelet's managers for topology and processors, so that what is decided here is what happens on the node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from stromboli.core.model.nodes.numa import BEST_EFFORT, SINGLE, CpuSet, Processors, numbers_of, set_of

#: A container, and how many processors it wants for itself.
Demand = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class CpuAllocation:
    """The processors that containers get on a node; none where the kubelet has to see for itself."""

    containers: tuple[tuple[str, CpuSet], ...]

    @property
    def cpus(self) -> CpuSet:
        together = 0
        for _, cpus in self.containers:
            together |= cpus
        return together


def assign_cpus(processors: Processors, free: CpuSet, demand: Demand) -> CpuAllocation | str:
    """Processors for all containers, or the name of the container for which the node's policy leaves none."""
    given = []
    for container, number in demand:
        cells = numa_nodes_for(processors, free, number)
        if not _is_allowed(processors, cells, number):
            return container
        cpus = take(processors, free & _union(processors, cells), number) if cells else 0
        given.append((container, cpus))
        free &= ~cpus
    return CpuAllocation(tuple(given))


def count_numa_nodes(processors: Processors, free: CpuSet, demand: Demand) -> int:
    """In how many cells such an allotment would lie; 0 where there would be none. Where a container is let in that
    would get nothing, it is more than there are.
    """
    before = assign_cpus(processors, free, demand[:-1])
    if isinstance(before, str):
        return 0
    number = demand[-1][1]
    last = numa_nodes_for(processors, free & ~before.cpus, number)
    if not _is_allowed(processors, last, number):
        return 0
    if not last or not all(cpus for _, cpus in before.containers):
        return len(processors.cells) + 1
    return len({*processors.numa_nodes_of(before.cpus), *last})


def _is_allowed(processors: Processors, cells: Sequence[int], number: int) -> bool:
    if processors.policy == BEST_EFFORT:
        return True
    if processors.policy == SINGLE:
        return len(cells) == 1
    return bool(cells) and len(cells) == fewest_numa_nodes(processors, number)


def _union(processors: Processors, cells: Sequence[int]) -> CpuSet:
    union = 0
    for cell in cells:
        union |= processors.cells[cell]
    return union


def fewest_numa_nodes(processors: Processors, number: int) -> int:
    """From how many cells so many processors come if nobody else has any; 0 if the node has not so many."""
    sizes = sorted((cell.bit_count() for cell in processors.cells.values()), reverse=True)
    return _how_many(sizes, number)


def _how_many(sizes: Sequence[int], number: int) -> int:
    """How many of these sizes, largest first, make up the number; 0 if all of them do not."""
    total = 0
    for place, size in enumerate(sizes, start=1):
        total += size
        if total >= number:
            return place
    return 0


def numa_nodes_for(processors: Processors, free: CpuSet, number: int) -> list[int]:
    """The fewest cells with so many free processors, and of several such choices the one with the lowest numbers:
    whether a cell can be done without is asked from the highest number down. Empty if all cells have too few.
    """
    sizes = {cell: (cpus & free).bit_count() for cell, cpus in processors.cells.items()}
    wanted = _how_many(sorted(sizes.values(), reverse=True), number)
    chosen: list[int] = []
    below = sorted(sizes)
    while len(chosen) < wanted:
        cell = below.pop()
        others = sorted((sizes[each] for each in below), reverse=True)[: wanted - len(chosen)]
        if sum(others) < number:
            chosen.append(cell)
            number -= sizes[cell]
    return chosen[::-1]


def take(processors: Processors, free: CpuSet, number: int) -> CpuSet:
    """So many of the free processors: whole sockets first, then whole cores, then single ones. What is broken into
    already is used up first. There must be enough.
    """
    taken = 0
    for whole in chain(_whole(processors.sockets, free), _whole(_by_need(processors, free), free)):
        if not whole & taken and whole.bit_count() <= number - taken.bit_count():
            taken |= whole
    missing = number - taken.bit_count()
    return taken | set_of(_singles(processors, free & ~taken)[:missing]) if missing else taken


def _whole(units: Sequence[CpuSet], free: CpuSet) -> list[CpuSet]:
    """Those of the units that are free as a whole."""
    return [unit for unit in units if unit & free == unit]


def _by_need(processors: Processors, free: CpuSet) -> list[CpuSet]:
    """Cores, those first that lie in sockets with few free processors."""
    room = {socket: (socket & free).bit_count() for socket in processors.sockets}
    return sorted(processors.cores, key=lambda core: room[processors.socket_of[core.bit_length() - 1]])


def _singles(processors: Processors, free: CpuSet) -> list[int]:
    """Free processors one by one, those first in whose socket, and then in whose core, few are free."""

    def place(number: int) -> tuple[int, int]:
        socket, core = processors.socket_of[number], processors.core_of[number]
        return (socket & free).bit_count(), (core & free).bit_count()

    return sorted(numbers_of(free), key=place)
