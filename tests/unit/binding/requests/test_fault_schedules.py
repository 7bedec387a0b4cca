"""Two hundred bad days of a binder, each by its seed: whatever goes wrong, and when, the end is a good one.

On every day the server refuses, loses and delays requests; besides, each has a trouble of its own. When it is over, one
binder works under a clear sky until all requests have come to an end, and everything must be in order: no node has
more than it can take (I1), no gang is half there (I2), no request is open for ever (I3), nobody was bound twice (I4),
nothing is held or prepared for nobody (I11), and who was followed by another has decided nothing more (I18).

`FAULT_SEEDS` asks for more days or fewer.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable

import pytest

from stromboli.kube.objects.bind_requests import SUCCEEDED
from stromboli.kube.objects.catalogue import CONFIG_MAPS
from tests.testing.virtual_time import run_virtually
from tests.unit.binding.requests.binder_world import World
from tests.unit.binding.requests.tickets_plugin import TICKET, Tickets

SEEDS = int(os.environ.get("FAULT_SEEDS") or 208)
NODES = "abcd"
ROOM = 4
#: Every write that a binder makes on such a day, before and after which it may die.
WRITES = (
    "create pods/binding", "patch bindrequests/status", "patch pods/status", "create pods/eviction", "create events",
    "create configmaps", "patch configmaps", "delete configmaps",
)  # fmt: skip
POINTS = [f"{moment} {write}" for write in WRITES for moment in ("before", "after")]

ReservationFault = Callable[["Day"], Awaitable[None]]


class Day:
    """Schedulers that decide by what they know themselves, and a binder that makes the best of it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)  # noqa: S311
        self.world = World(seed)
        self.gangs: list[str] = []
        self.zombies: list[str] = []

    async def furnish(self) -> None:
        for name in NODES:
            await self.world.node(name, ROOM)

    async def decide(self, scheduler: str, count: int, *, epoch: int = 1, books: dict[str, int] | None = None) -> None:
        """Gangs of one scheduler, each where there is room by the books of that scheduler."""
        free = books if books is not None else dict.fromkeys(NODES, ROOM)
        for _ in range(count):
            name = f"{scheduler}-{len(self.gangs)}"
            nodes = self._choose(free, self.chance.randint(1, 5))
            if nodes:
                self.gangs.append(name)
                await self._create(name, nodes, scheduler, epoch)
            await asyncio.sleep(self.chance.uniform(0.0, 1.0))

    def _choose(self, free: dict[str, int], size: int) -> str:
        chosen = ""
        for _ in range(size):
            open_nodes = [name for name, room in free.items() if room]
            if not open_nodes:
                return ""
            node = self.chance.choice(open_nodes)
            free[node] -= 1
            chosen += node
        return chosen

    async def _create(self, name: str, nodes: str, scheduler: str, epoch: int) -> None:
        chance, pods = self.chance, {f"{name}-{place}": node for place, node in enumerate(nodes)}
        for pod in pods:
            await self.world.pod(pod)
        kinds = ["", "", "yes", "later:1", "slow:2", "never"] if self.seed % 2 else [""]
        wishes = {pod: chance.choice(kinds) for pod in pods}
        facts = {pod: {"annotations": {TICKET: kind}} for pod, kind in wishes.items() if kind}
        minimum = chance.choice([len(pods), len(pods), max(len(pods) - 1, 1)])
        await self.world.request(
            name, pods, minimum=minimum, scheduler=scheduler, epoch=epoch, facts=facts, backoffLimit=4,
            deadlineSeconds=60,
        )  # fmt: skip

    def begin(self, *, dies_at: tuple[str, int] = ("", 0)) -> None:
        self.world.start([Tickets()], dies_at=dies_at)

    async def moment(self, longest: float = 3.0) -> None:
        await asyncio.sleep(self.chance.uniform(0.0, longest))

    def member(self) -> str:
        return self.chance.choice(sorted(self.world.uids))

    async def recover(self) -> None:
        """Clear sky, and one binder."""
        self.world.weather.clear_up()
        for running in self.world.binders:
            running.kill()
        await asyncio.sleep(1.0)
        self.begin()
        await self.world.until_settled()
        await asyncio.sleep(10.0)  # what was on its way has arrived
        await self.world.until_settled()

    async def orphans(self) -> list[str]:
        """Tickets of pods that nobody bound, and pods that were bound without theirs."""
        pods, world = await self.world.pods(), self.world
        held = {each.metadata.name.removeprefix("ticket-") for each in (await world.client.list(CONFIG_MAPS)).items}
        known = set(world.uids.values()) - world.disturbed
        bound = {pod.metadata.uid for pod in pods.values() if pod.spec.node_name}
        return [f"{uid} has a ticket and no node" for uid in (held & known) - bound]

    async def refused(self) -> list[str]:
        found = {each.metadata.name: each.status.phase for each in await self.world.requests()}
        return [f"{name} was carried out for a leader of the past" for name in self.zombies if found[name] == SUCCEEDED]


# -- troubles ------------------------------------------------------------------------------------------------------


async def crashes_at_a_point(day: Day) -> None:
    """The binder dies before or after one of its writes, and another one comes."""
    point = POINTS[day.seed // len(FAULTS) % len(POINTS)]
    day.begin(dies_at=(point, day.chance.randint(1, 3)))
    await day.decide("one", 3)
    await day.moment()
    day.begin()
    await day.moment()


async def crashes_repeatedly(day: Day) -> None:
    for _ in range(4):
        day.begin(dies_at=(day.chance.choice(POINTS), day.chance.randint(1, 4)))
        await day.decide("one", 1, books=dict.fromkeys(day.chance.choice(NODES), 2))
        await day.moment()
        day.world.binders[-1].kill()


async def two_binders_lead(day: Day) -> None:
    """Two binders at once, neither of which knows that it should not."""
    day.begin()
    day.begin()
    await day.decide("one", 4)
    await day.moment(10.0)


async def nodes_are_deleted(day: Day) -> None:
    day.begin()
    await day.decide("one", 3)
    await day.world.remove_node(day.chance.choice(NODES))
    await day.decide("one", 2)
    await day.world.remove_node(day.chance.choice(NODES))
    await day.moment()


async def pods_are_deleted(day: Day) -> None:
    """Some come back by the same name."""
    day.begin()
    for _ in range(3):
        await day.decide("one", 1)
        name = day.member()
        await day.world.remove_pod(name)
        if day.chance.random() < 0.5:
            await day.world.pod(name)
            day.world.disturbed.add(day.world.uids[name])
        await day.moment(1.0)


async def other_schedulers_bind(day: Day) -> None:
    day.begin()
    for _ in range(3):
        await day.decide("one", 1)
        await day.world.bind_elsewhere(day.member(), day.chance.choice(NODES))
    await day.moment()


async def two_schedulers_decide(day: Day) -> None:
    """Two schedulers give away the same rooms."""
    day.begin(dies_at=(day.chance.choice(POINTS), day.chance.randint(1, 5)))
    await asyncio.gather(day.decide("one", 4), day.decide("two", 4))
    await day.moment()
    day.world.binders[0].kill()
    await asyncio.sleep(1.0)
    day.begin()
    await day.moment()


async def former_leader_decides(day: Day) -> None:
    """A leader that was followed by another writes requests all the same."""
    day.begin()
    await day.decide("one", 2, epoch=2)
    await asyncio.sleep(5.0)
    before = set(day.gangs)
    await day.decide("one", 2, epoch=1)
    day.zombies = [name for name in day.gangs if name not in before]
    await day.moment()


async def requests_are_deleted(day: Day) -> None:
    """Requests are deleted in the middle, and their rooms and pods are given away again."""
    day.begin()
    for _ in range(4):
        await day.decide("one", 1)
        await day.moment(1.0)
        await day.world.remove_request(day.chance.choice(day.gangs))
        await day.decide("two", 1)
    day.world.weather.clear_up()
    await asyncio.sleep(60.0)  # who dies now leaves behind what nobody tells any more


FAULTS: dict[str, ReservationFault] = {
    "dies": crashes_at_a_point,
    "dies-often": crashes_repeatedly,
    "two-lead": two_binders_lead,
    "nodes-go": nodes_are_deleted,
    "pods-go": pods_are_deleted,
    "others-bind": other_schedulers_bind,
    "two-decide": two_schedulers_decide,
    "the-past": former_leader_decides,
    "requests-go": requests_are_deleted,
}


async def live_through(seed: int) -> None:
    random.seed(seed)
    day = Day(seed)
    await day.furnish()
    weather, chance = day.world.weather, day.chance
    weather.refused, weather.lost = chance.choice([0.0, 0.1, 0.3]), chance.choice([0.0, 0.1, 0.3])
    weather.conflicts, weather.slow = chance.choice([0.0, 0.1]), chance.choice([0.0, 0.05, 0.2])
    await list(FAULTS.values())[seed % len(FAULTS)](day)
    await day.recover()
    found = [*await day.world.faults(), *await day.orphans(), *await day.refused()]
    assert found == [], await day.world.described()
    await day.world.close()


@pytest.mark.parametrize("seed", range(SEEDS), ids=lambda seed: f"{list(FAULTS)[seed % len(FAULTS)]}-{seed}")
def test_fault_schedule_ends_with_whole_gangs(seed: int) -> None:
    run_virtually(live_through(seed))
