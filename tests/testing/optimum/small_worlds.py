"""Small random worlds as plain numbers, for exact references: at most 8 nodes, and 20 pods in gangs."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from tests.testing.manifests.builders import Manifest, gang_of, node, pod, priority_class, queue

#: Amounts of cpu and memory.
Amounts = tuple[int, int]

MAX_PODS = 20
PRIORITIES = (10, 20, 30)
URGENT = 100
#: The queues of the running and of the waiting gangs, if they differ.
LENDER, OWNER = "lender", "owner"


@dataclass(frozen=True)
class SmallGang:
    """A gang: what its pods request, and for a running one the nodes they are on."""

    name: str
    priority: int
    minimum: int
    requests: tuple[Amounts, ...]
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True)
class SmallCluster:
    nodes: tuple[Amounts, ...]
    running: tuple[SmallGang, ...]
    waiting: tuple[SmallGang, ...]

    def free(self) -> list[list[int]]:
        """What is free on each node."""
        free = [list(size) for size in self.nodes]
        for gang in self.running:
            for place, request in zip(gang.nodes, gang.requests, strict=True):
                take(free[place], request)
        return free

    def manifests(self, *, own_queue: bool = True) -> list[Manifest]:
        """The objects; with `own_queue` all gangs are in one queue."""
        world = [node(f"n{number}", cpu, f"{memory}Gi") for number, (cpu, memory) in enumerate(self.nodes)]
        world += [queue(LENDER), queue(OWNER, 1000)]
        world += [priority_class(f"p{value}", value) for value in (*PRIORITIES, URGENT)]
        for gang in self.running:
            world += _gang(gang, LENDER, "Running")
        for number, gang in enumerate(self.waiting):
            created = f"2026-01-01T00:00:{number:02}Z"
            world += _gang(gang, LENDER if own_queue else OWNER, "Inqueue", created=created)
        return world


def _gang(gang: SmallGang, queue_name: str, phase: str, **facts: str) -> list[Manifest]:
    members = []
    for number, (cpu, memory) in enumerate(gang.requests):
        place: dict[str, Any] = {"nodeName": f"n{gang.nodes[number]}"} if gang.nodes else {}
        members.append(pod(cpu, f"{memory}Gi", **place))
    priority = f"p{gang.priority}"
    return gang_of(
        *members, name=gang.name, minimum=gang.minimum, queue=queue_name, priority=priority, phase=phase, **facts
    )


def take(free: list[int], request: Amounts) -> None:
    for dimension, amount in enumerate(request):
        free[dimension] -= amount


def fits(free: list[int], request: Amounts) -> bool:
    return all(left >= amount for left, amount in zip(free, request, strict=True))


def full_cluster(seed: int) -> SmallCluster:
    """Nodes that are nearly full of gangs, and one urgent gang that does not fit."""
    chance = Random(seed)  # noqa: S311
    nodes = _nodes(chance, chance.randint(3, 8))
    urgent = _waiting(chance, "urgent", URGENT, chance.randint(1, 4))
    free, running, left = [list(size) for size in nodes], list[SmallGang](), MAX_PODS - len(urgent.requests)
    for number in range(40):
        requests = _requests(chance, min(chance.randint(1, 5), left))
        placed = [(request, place) for request in requests if (place := _any_node(chance, free, request)) is not None]
        if placed:
            left -= len(placed)
            minimum = chance.randint(1, len(placed))
            kept, places = zip(*placed, strict=True)
            running.append(SmallGang(f"old-{number}", chance.choice(PRIORITIES), minimum, kept, places))
        if not left:
            break
    return SmallCluster(nodes, tuple(running), (urgent,))


def crowded_cluster(seed: int) -> SmallCluster:
    """Nodes of small pods, most of which may only be evicted with their gang, and an urgent gang of large pods."""
    chance = Random(f"crowded {seed}")  # noqa: S311
    nodes = tuple((chance.choice((4, 6, 8)), chance.choice((8, 12, 16))) for _ in range(chance.randint(3, 8)))
    size = chance.randint(3, 6)
    large = tuple((chance.randint(2, 4), chance.randint(1, 6)) for _ in range(size))
    urgent = SmallGang("urgent", URGENT, size, large if chance.random() < 0.5 else large[:1] * size)
    free, running = [list(each) for each in nodes], list[SmallGang]()
    for number in range(8):
        placed = []
        for _ in range(chance.randint(1, 5)):
            request = chance.randint(1, 2), chance.randint(1, 4)
            place = _any_node(chance, free, request)
            placed += [] if place is None else [(request, place)]
        if placed:
            minimum = len(placed) if chance.random() < 0.7 else chance.randint(1, len(placed))
            requests, places = zip(*placed, strict=True)
            running.append(SmallGang(f"old-{number}", chance.choice(PRIORITIES), minimum, requests, places))
    return SmallCluster(nodes, tuple(running), (urgent,))


def empty_cluster(seed: int) -> SmallCluster:
    """Empty nodes, and waiting gangs that request about as much as there is."""
    chance = Random(seed)  # noqa: S311
    nodes = _nodes(chance, chance.randint(3, 8))
    waiting, left = list[SmallGang](), MAX_PODS
    while left:
        size = min(chance.randint(1, 5), left)
        waiting.append(_waiting(chance, f"gang-{len(waiting)}", PRIORITIES[0], size))
        left -= size
    return SmallCluster(nodes, (), tuple(waiting))


def _nodes(chance: Random, number: int) -> tuple[Amounts, ...]:
    return tuple((chance.choice((4, 8)), chance.choice((8, 16))) for _ in range(number))


def _requests(chance: Random, size: int) -> tuple[Amounts, ...]:
    """Equal pods, or pods of different sizes."""
    if chance.random() < 0.5:
        return (_request(chance),) * size
    return tuple(_request(chance) for _ in range(size))


def _request(chance: Random) -> Amounts:
    return chance.randint(1, 4), chance.randint(1, 6)


def _waiting(chance: Random, name: str, priority: int, size: int) -> SmallGang:
    return SmallGang(name, priority, size, _requests(chance, size))


def _any_node(chance: Random, free: list[list[int]], request: Amounts) -> int | None:
    places = [place for place, left in enumerate(free) if fits(left, request)]
    if not places:
        return None
    place = chance.choice(places)
    take(free[place], request)
    return place
