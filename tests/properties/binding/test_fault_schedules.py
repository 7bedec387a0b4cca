"""208 seeded fault schedules of a binder: whatever fails, and when, the invariants hold at the end.

In every schedule the API server rejects, loses and delays requests, and one more kind of fault occurs. Then one binder
runs without faults until all requests have ended, and all invariants must hold: no node is overcommitted (I1), no gang
is half-bound (I2), no request stays open (I3), no pod was bound twice (I4), nothing stays assumed or prepared (I11),
and a former leader has decided nothing more (I18).

`FAULT_SEEDS` sets the number of schedules.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable

import pytest

from stromboli.kube.objects.bind_requests import SUCCEEDED
from stromboli.kube.objects.catalogue import CONFIG_MAPS
from tests.testing.binder.binder_world import World
from tests.testing.binder.tickets_plugin import TICKET, Tickets
from tests.testing.virtual_time import run_virtually

SEEDS = int(os.environ.get("FAULT_SEEDS") or 208)
NODES = "abcd"
CAPACITY = 4
#: Every write of a binder, before and after which it may die.
WRITES = (
    "create pods/binding", "patch bindrequests/status", "patch pods/status", "create pods/eviction", "create events",
    "create configmaps", "patch configmaps", "delete configmaps",
)  # fmt: skip
POINTS = [f"{moment} {write}" for write in WRITES for moment in ("before", "after")]

ReservationFault = Callable[["FaultSchedule"], Awaitable[None]]


class FaultSchedule:
    """Schedulers with accounting of their own, a binder, and faults."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)  # noqa: S311
        self.world = World(seed)
        self.gangs: list[str] = []
        self.zombies: list[str] = []

    async def create_objects(self) -> None:
        for name in NODES:
            await self.world.node(name, CAPACITY)

    async def decide(self, scheduler: str, count: int, *, epoch: int = 1, free: dict[str, int] | None = None) -> None:
        """Create gangs of one scheduler, each where its own accounting has capacity."""
        free = free if free is not None else dict.fromkeys(NODES, CAPACITY)
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
            open_nodes = [name for name, capacity in free.items() if capacity]
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
        kinds_by_pod = {pod: chance.choice(kinds) for pod in pods}
        facts = {pod: {"annotations": {TICKET: kind}} for pod, kind in kinds_by_pod.items() if kind}
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
        """Run one binder without faults until everything has ended."""
        self.world.injected.stop()
        for running in self.world.binders:
            running.kill()
        await asyncio.sleep(1.0)
        self.begin()
        await self.world.until_settled()
        await asyncio.sleep(10.0)  # requests in flight have arrived
        await self.world.until_settled()

    async def orphans(self) -> list[str]:
        """Return the tickets of pods that are not bound."""
        pods, world = await self.world.pods(), self.world
        held = {each.metadata.name.removeprefix("ticket-") for each in (await world.client.list(CONFIG_MAPS)).items}
        known = set(world.uids.values()) - world.disturbed
        bound = {pod.metadata.uid for pod in pods.values() if pod.spec.node_name}
        return [f"{uid} has a ticket and no node" for uid in (held & known) - bound]

    async def refused(self) -> list[str]:
        found = {each.metadata.name: each.status.phase for each in await self.world.requests()}
        return [f"{name} was executed for a former leader" for name in self.zombies if found[name] == SUCCEEDED]


# -- fault kinds ---------------------------------------------------------------------------------------------------


async def crashes_at_a_point(schedule: FaultSchedule) -> None:
    """The binder dies before or after one of its writes, and another one starts."""
    point = POINTS[schedule.seed // len(FAULTS) % len(POINTS)]
    schedule.begin(dies_at=(point, schedule.chance.randint(1, 3)))
    await schedule.decide("one", 3)
    await schedule.moment()
    schedule.begin()
    await schedule.moment()


async def crashes_repeatedly(schedule: FaultSchedule) -> None:
    for _ in range(4):
        schedule.begin(dies_at=(schedule.chance.choice(POINTS), schedule.chance.randint(1, 4)))
        await schedule.decide("one", 1, free=dict.fromkeys(schedule.chance.choice(NODES), 2))
        await schedule.moment()
        schedule.world.binders[-1].kill()


async def two_binders_lead(schedule: FaultSchedule) -> None:
    """Two binders lead at the same time."""
    schedule.begin()
    schedule.begin()
    await schedule.decide("one", 4)
    await schedule.moment(10.0)


async def nodes_are_deleted(schedule: FaultSchedule) -> None:
    schedule.begin()
    await schedule.decide("one", 3)
    await schedule.world.remove_node(schedule.chance.choice(NODES))
    await schedule.decide("one", 2)
    await schedule.world.remove_node(schedule.chance.choice(NODES))
    await schedule.moment()


async def pods_are_deleted(schedule: FaultSchedule) -> None:
    """Pods are deleted; some are created again with the same name."""
    schedule.begin()
    for _ in range(3):
        await schedule.decide("one", 1)
        name = schedule.member()
        await schedule.world.remove_pod(name)
        if schedule.chance.random() < 0.5:
            await schedule.world.pod(name)
            schedule.world.disturbed.add(schedule.world.uids[name])
        await schedule.moment(1.0)


async def other_schedulers_bind(schedule: FaultSchedule) -> None:
    schedule.begin()
    for _ in range(3):
        await schedule.decide("one", 1)
        await schedule.world.bind_elsewhere(schedule.member(), schedule.chance.choice(NODES))
    await schedule.moment()


async def two_schedulers_decide(schedule: FaultSchedule) -> None:
    """Two schedulers use the same capacity."""
    schedule.begin(dies_at=(schedule.chance.choice(POINTS), schedule.chance.randint(1, 5)))
    await asyncio.gather(schedule.decide("one", 4), schedule.decide("two", 4))
    await schedule.moment()
    schedule.world.binders[0].kill()
    await asyncio.sleep(1.0)
    schedule.begin()
    await schedule.moment()


async def former_leader_decides(schedule: FaultSchedule) -> None:
    """A former leader still writes requests."""
    schedule.begin()
    await schedule.decide("one", 2, epoch=2)
    await asyncio.sleep(5.0)
    before = set(schedule.gangs)
    await schedule.decide("one", 2, epoch=1)
    schedule.zombies = [name for name in schedule.gangs if name not in before]
    await schedule.moment()


async def requests_are_deleted(schedule: FaultSchedule) -> None:
    """Requests are deleted during execution, and their capacity and pods are used again."""
    schedule.begin()
    for _ in range(4):
        await schedule.decide("one", 1)
        await schedule.moment(1.0)
        await schedule.world.remove_request(schedule.chance.choice(schedule.gangs))
        await schedule.decide("two", 1)
    schedule.world.injected.stop()
    await asyncio.sleep(60.0)  # rollbacks of deleted requests finish before the binder is replaced


FAULTS: dict[str, ReservationFault] = {
    "crashes": crashes_at_a_point,
    "crashes-repeatedly": crashes_repeatedly,
    "two-lead": two_binders_lead,
    "nodes-deleted": nodes_are_deleted,
    "pods-deleted": pods_are_deleted,
    "others-bind": other_schedulers_bind,
    "two-decide": two_schedulers_decide,
    "former-leader": former_leader_decides,
    "requests-deleted": requests_are_deleted,
}


async def run_schedule(seed: int) -> None:
    random.seed(seed)
    schedule = FaultSchedule(seed)
    await schedule.create_objects()
    injected, chance = schedule.world.injected, schedule.chance
    injected.refused, injected.lost = chance.choice([0.0, 0.1, 0.3]), chance.choice([0.0, 0.1, 0.3])
    injected.conflicts, injected.slow = chance.choice([0.0, 0.1]), chance.choice([0.0, 0.05, 0.2])
    await list(FAULTS.values())[seed % len(FAULTS)](schedule)
    await schedule.recover()
    found = [*await schedule.world.faults(), *await schedule.orphans(), *await schedule.refused()]
    assert found == [], await schedule.world.described()
    await schedule.world.close()


@pytest.mark.parametrize("seed", range(SEEDS), ids=lambda seed: f"{list(FAULTS)[seed % len(FAULTS)]}-{seed}")
def test_fault_schedule_ends_with_whole_gangs(seed: int) -> None:
    run_virtually(run_schedule(seed))
