"""The exact optimum of a preemption in a small world, by trying all sets of victims.

A pod above the minimum of its gang may be evicted alone, a whole gang together. The cheapest set has the lowest highest
priority, and among these the fewest pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from tests.testing.optimum.packing import is_packable
from tests.testing.optimum.small_worlds import SmallCluster, SmallGang

#: The places of victims in their gang.
Members = tuple[int, ...]


class VictimCost(NamedTuple):
    priority: int
    number: int


NOTHING = VictimCost(0, 0)


def optimal_cost(cluster: SmallCluster) -> VictimCost | None:
    """The lowest cost for which the waiting gang fits; None if it does not fit at any cost."""
    if _fits_without(cluster, (), ()):
        return NOTHING
    for priority in sorted({gang.priority for gang in cluster.running}):
        gangs = [gang for gang in cluster.running if gang.priority <= priority]
        largest = sum(len(gang.requests) for gang in gangs)
        if not _fits_without(cluster, gangs, [tuple(range(len(gang.requests))) for gang in gangs]):
            continue
        for number in range(1, largest + 1):
            if any(_fits_without(cluster, gangs, victims) for victims in _sets(gangs, number)):
                return VictimCost(priority, number)
    return None


def _sets(gangs: Sequence[SmallGang], number: int) -> Iterator[list[Members]]:
    """All allowed sets of so many victims, by gang."""
    if not gangs:
        if number == 0:
            yield []
        return
    if sum(len(gang.requests) for gang in gangs) < number:
        return
    for members in _choices(gangs[0], number):
        for others in _sets(gangs[1:], number - len(members)):
            yield [members, *others]


def _choices(gang: SmallGang, number: int) -> Iterator[Members]:
    """What may be evicted of a gang: spare members, or all; of equal members on one node the first ones."""
    size, seen = len(gang.requests), set[tuple[object, ...]]()
    for count in range(min(size - gang.minimum, number) + 1):
        for members in combinations(range(size), count):
            kind = tuple(sorted((gang.nodes[place], gang.requests[place]) for place in members))
            if kind not in seen:
                seen.add(kind)
                yield members
    if size <= number:
        yield tuple(range(size))


def _fits_without(cluster: SmallCluster, gangs: Sequence[SmallGang], victims: Sequence[Members]) -> bool:
    free = cluster.free()
    for gang, members in zip(gangs, victims, strict=True):
        for place in members:
            for dimension, amount in enumerate(gang.requests[place]):
                free[gang.nodes[place]][dimension] += amount
    return is_packable(free, cluster.waiting[0].requests)
