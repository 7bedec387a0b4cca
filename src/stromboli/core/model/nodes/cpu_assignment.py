"""Assignment of processors to containers, as the kubelet would choose them.

Two steps: how many NUMA nodes are needed and which, and then which processors of these. Both follow the kubelet's
topology and CPU managers, so that the decision here is what happens on the node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from stromboli.core.model.nodes.numa import BEST_EFFORT, SINGLE, CpuSet, Processors, numbers_of, set_of

#: A container, and how many exclusive processors it requests.
Demand = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class CpuAllocation:
    """The processors that containers get on a node; empty if the kubelet assigns them without alignment."""

    containers: tuple[tuple[str, CpuSet], ...]

    @property
    def cpus(self) -> CpuSet:
        together = 0
        for _, cpus in self.containers:
            together |= cpus
        return together


def assign_cpus(processors: Processors, free: CpuSet, demand: Demand) -> CpuAllocation | str:
    """Assign processors to all containers, or return the name of the container that the node's policy rejects."""
    assigned = []
    for container, number in demand:
        numa_nodes = numa_nodes_for(processors, free, number)
        if not _is_allowed(processors, numa_nodes, number):
            return container
        cpus = take(processors, free & _union(processors, numa_nodes), number) if numa_nodes else 0
        assigned.append((container, cpus))
        free &= ~cpus
    return CpuAllocation(tuple(assigned))


def count_numa_nodes(processors: Processors, free: CpuSet, demand: Demand) -> int:
    """Count the NUMA nodes of such an assignment; 0 if there is none. If a container is admitted without an assignment,
    the count exceeds the number of NUMA nodes.
    """
    before = assign_cpus(processors, free, demand[:-1])
    if isinstance(before, str):
        return 0
    number = demand[-1][1]
    last = numa_nodes_for(processors, free & ~before.cpus, number)
    if not _is_allowed(processors, last, number):
        return 0
    if not last or not all(cpus for _, cpus in before.containers):
        return len(processors.numa_nodes) + 1
    return len({*processors.numa_nodes_of(before.cpus), *last})


def _is_allowed(processors: Processors, numa_nodes: Sequence[int], number: int) -> bool:
    if processors.policy == BEST_EFFORT:
        return True
    if processors.policy == SINGLE:
        return len(numa_nodes) == 1
    return bool(numa_nodes) and len(numa_nodes) == fewest_numa_nodes(processors, number)


def _union(processors: Processors, numa_nodes: Sequence[int]) -> CpuSet:
    union = 0
    for numa_node in numa_nodes:
        union |= processors.numa_nodes[numa_node]
    return union


def fewest_numa_nodes(processors: Processors, number: int) -> int:
    """Return how many NUMA nodes are needed for a number of processors on an empty node; 0 if the node is too small."""
    sizes = sorted((numa_node.bit_count() for numa_node in processors.numa_nodes.values()), reverse=True)
    return _how_many(sizes, number)


def _how_many(sizes: Sequence[int], number: int) -> int:
    """Return how many of these sizes, largest first, reach the number; 0 if all of them do not."""
    total = 0
    for place, size in enumerate(sizes, start=1):
        total += size
        if total >= number:
            return place
    return 0


def numa_nodes_for(processors: Processors, free: CpuSet, number: int) -> list[int]:
    """Return the fewest NUMA nodes with enough free processors, with the lowest numbers among equals: NUMA nodes are
    dropped from the highest number down. Empty if all of them have too few.
    """
    sizes = {numa_node: (cpus & free).bit_count() for numa_node, cpus in processors.numa_nodes.items()}
    wanted = _how_many(sorted(sizes.values(), reverse=True), number)
    chosen: list[int] = []
    below = sorted(sizes)
    while len(chosen) < wanted:
        numa_node = below.pop()
        others = sorted((sizes[each] for each in below), reverse=True)[: wanted - len(chosen)]
        if sum(others) < number:
            chosen.append(numa_node)
            number -= sizes[numa_node]
    return chosen[::-1]


def take(processors: Processors, free: CpuSet, number: int) -> CpuSet:
    """Take a number of free processors: whole sockets first, then whole cores, then single ones. Partially used units
    are filled first. There must be enough.
    """
    taken = 0
    for whole in chain(_whole(processors.sockets, free), _whole(_by_need(processors, free), free)):
        if not whole & taken and whole.bit_count() <= number - taken.bit_count():
            taken |= whole
    missing = number - taken.bit_count()
    return taken | set_of(_singles(processors, free & ~taken)[:missing]) if missing else taken


def _whole(units: Sequence[CpuSet], free: CpuSet) -> list[CpuSet]:
    """Return the units that are completely free."""
    return [unit for unit in units if unit & free == unit]


def _by_need(processors: Processors, free: CpuSet) -> list[CpuSet]:
    """Return cores, those first whose sockets have few free processors."""
    free_cpus = {socket: (socket & free).bit_count() for socket in processors.sockets}
    return sorted(processors.cores, key=lambda core: free_cpus[processors.socket_of[core.bit_length() - 1]])


def _singles(processors: Processors, free: CpuSet) -> list[int]:
    """Return free processors, those first in whose socket, and then in whose core, few are free."""

    def place(number: int) -> tuple[int, int]:
        socket, core = processors.socket_of[number], processors.core_of[number]
        return (socket & free).bit_count(), (core & free).bit_count()

    return sorted(numbers_of(free), key=place)
