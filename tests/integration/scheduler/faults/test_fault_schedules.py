"""Everything that can go wrong, in an order that chance decides: when it is over, every gang runs whole.

`FOUL_WEATHER=50 pytest tests/integration/scheduler/faults/test_fault_schedules.py` tries more seeds.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable

import pytest

from stromboli.kube.objects.catalogue import NODES, PODS
from stromboli.local.api_server.faults import (
    Answer,
    CutConnection,
    CutWatch,
    Delay,
    Duplicate,
    ExpireWatch,
    Garble,
    LoseAnswer,
    Match,
    Reorder,
    RequestAction,
    WatchAction,
)
from tests.testing.invariants import check
from tests.testing.manifests.builders import gang
from tests.testing.world import World, cpus, running_cluster

pytestmark = pytest.mark.only("embedded", because="faults of the server are made")

SEEDS = range(int(os.environ.get("FOUL_WEATHER", "3")))
SIZES = {"red": 4, "green": 3, "blue": 2, "white": 5}
REQUESTS: list[RequestAction] = [
    Answer(409, "Conflict"),
    Answer(422, "Invalid"),
    Answer(429, "TooManyRequests", retry_after=0),
    Answer(500, "InternalError"),
    Answer(503, "ServiceUnavailable"),
    CutConnection(),
    LoseAnswer(),
    Garble(),
    Delay(0.05),
]
WATCHES: list[WatchAction] = [CutWatch(), Duplicate(), ExpireWatch(), Reorder(3)]
WRITES = [
    Match(verb="create", plural="pods", subresource="binding"),
    Match(verb="create", plural="pods", subresource="eviction"),
    Match(verb="patch", plural="podgroups"),
    Match(verb="patch", plural="pods"),
    Match(verb="get", plural="pods"),
]


class Weather:
    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.chance = random.Random(seed)  # noqa: S311
        self.log: list[str] = []

    async def blow(self) -> None:
        """One thing goes wrong."""
        kinds: list[Callable[[], Awaitable[None]]] = [
            self.spoil_writes, self.spoil_writes, self.spoil_watches, self.drop_watches, self.kill, self.cordon,
            self.replace_pod,
        ]  # fmt: skip
        kind = self.chance.choice(kinds)
        self.log.append(kind.__name__)
        await kind()
        await asyncio.sleep(self.chance.uniform(0.0, 0.08))

    async def spoil_writes(self) -> None:
        action, match = self.chance.choice(REQUESTS), self.chance.choice(WRITES)
        self.log.append(f"{match.verb} {match.plural} {match.subresource}: {action}")
        self.world.faults.add(match, action, times=self.chance.randint(1, 6), after=self.chance.randint(0, 3))

    async def spoil_watches(self) -> None:
        action = self.chance.choice(WATCHES)
        self.log.append(str(action))
        self.world.faults.add(Match(verb="watch"), action, times=self.chance.randint(1, 4))

    async def drop_watches(self) -> None:
        if self.chance.random() < 0.5:
            self.world.server.compact()
        self.world.server.drop_watches()

    async def kill(self) -> None:
        await self.world.kill()
        await self.world.start()

    async def cordon(self) -> None:
        name = f"node-0{self.chance.randint(0, 3)}"
        await self.world.patch(NODES, name, {"spec": {"unschedulable": self.chance.random() < 0.5 or None}})

    async def replace_pod(self) -> None:
        """Delete a pod; its controller creates another one of the same name."""
        name = self.chance.choice(list(SIZES))
        member = self.chance.choice(gang(SIZES[name], 1, name=name)[1:])
        if await self.world.pods(member["metadata"]["name"]):
            await self.world.delete(PODS, member["metadata"]["name"], grace_period=0)
            await self.world.create(member)

    async def clear_up(self) -> None:
        self.world.faults.clear()
        for place in range(4):
            await self.world.patch(NODES, f"node-0{place}", {"spec": {"unschedulable": None}})


@pytest.mark.parametrize("seed", SEEDS)
async def test_when_the_storm_is_over_every_gang_runs_whole(seed: int) -> None:
    async with running_cluster(cpus(4), starts=False) as world:
        weather = Weather(world, seed)
        await world.start()
        for name, size in SIZES.items():
            await world.create(gang(size, 1, name=name))
            for _ in range(4):
                await weather.blow()
        await weather.clear_up()
        await world.until(lambda: all_run(world), lambda: f"every gang runs after {weather.log}")
        await check(world)


async def all_run(world: World) -> bool:
    """Whether all have a node; what was evicted is made again, as a controller would."""
    there = {pod.metadata.name: pod.spec.node_name for pod in await world.pods()}
    for name, size in SIZES.items():
        for member in gang(size, 1, name=name)[1:]:
            if member["metadata"]["name"] not in there:
                await world.create(member)
    return len(there) == sum(SIZES.values()) and all(there.values())
