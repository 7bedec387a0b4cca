"""Seeded fault schedules of shared GPUs: whatever fails, exactly the shared GPUs are reserved at the end, every pod has
the id of its reserved GPU, and no GPU was released under a pod that used it.

`FAULT_SEEDS` sets the number of schedules.
"""

from __future__ import annotations

import asyncio
import os
import random

import pytest

from stromboli.binding.reservations.reservation_pods import DEVICE, SharedGpu
from stromboli.kube.objects.catalogue import BIND_REQUESTS
from tests.testing.binder.binder_world import ENDED
from tests.testing.binder.gpu_world import GpuWorld
from tests.testing.virtual_time import run_virtually

SEEDS = int(os.environ.get("FAULT_SEEDS") or 12)
NODES = ("a", "b")
#: Every write that the binder makes for shared GPUs, before and after which it may die.
WRITES = (
    "create pods", "delete pods", "create configmaps", "patch configmaps", "delete configmaps", "create pods/binding",
)  # fmt: skip
POINTS = [f"{moment} {write}" for write in WRITES for moment in ("before", "after")]


class FaultSchedule:
    """A scheduler that assigns groups, pods that are created and deleted, and binders that crash."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311
        self.world = GpuWorld(seed, gpus=20)
        self._number = 0

    async def pass_by(self) -> None:
        chance, injected = self.chance, self.world.injected
        injected.refused, injected.lost, injected.conflicts, injected.slow = (
            chance.choice([0, 0.05]) for _ in range(4)
        )
        self.world.begin(dies_at=(chance.choice(POINTS), chance.randint(1, 4)))
        for _ in range(20):
            await chance.choice([self.comes, self.comes, self.goes, self.is_forgotten, self.is_followed])()
            await asyncio.sleep(chance.uniform(0.0, 3.0))

    async def comes(self) -> None:
        """A pod joins a GPU group of some node, or starts one."""
        name, self._number = f"pod-{self._number}", self._number + 1
        groups = self.chance.sample(["x", "y", "z"], self.chance.choice([1, 1, 2]))
        await self.world.sharing(name, self.chance.choice(NODES), *groups)

    async def goes(self) -> None:
        """A pod ends or is deleted; sometimes another one with its name is created."""
        names = [name for name in self.world.uids if name in await self.world.pods()]
        if not names:
            return
        name = self.chance.choice(names)
        if self.chance.random() < 0.5 and (await self.world.pods())[name].spec.node_name:
            await self.world.end(name)
            return
        await self.world.remove_pod(name)
        if self.chance.random() < 0.3:
            await self.world.waiting(name)

    async def is_forgotten(self) -> None:
        """The scheduler deletes requests that have ended."""
        for each in await self.world.requests():
            if each.status.phase in ENDED and self.chance.random() < 0.7:
                await self.world.client.delete(BIND_REQUESTS, each.metadata.name, namespace="default")

    async def is_followed(self) -> None:
        """Another binder replaces the binder."""
        if self.chance.random() < 0.5:
            for running in self.world.alive:
                running.kill()
            self.world.begin(dies_at=(self.chance.choice(POINTS), self.chance.randint(1, 6)))

    async def recover(self) -> None:
        """Run one binder without faults."""
        self.world.injected.stop()
        for running in self.world.binders:
            running.kill()
        await asyncio.sleep(6.0)
        self.world.begin()
        await self.world.until_settled()
        await asyncio.sleep(200.0)

    async def faults(self) -> list[str]:
        pods, holders, found = await self.world.pods(), await self.world.holders(), list[str]()
        shared = set[SharedGpu]()
        for name, pod in pods.items():
            if name not in self.world.uids or not pod.spec.node_name or pod.status.phase == "Succeeded":
                continue
            groups = (pod.metadata.annotations or {})["stromboli.dev/gpu-groups"].split(",")
            places = [SharedGpu(pod.spec.node_name, group) for group in groups]
            shared.update(places)
            held = [(holders[place].metadata.annotations or {})[DEVICE] for place in places if place in holders]
            reported = (await self.world.reported(name)).split(",")
            if reported != held:
                found.append(f"{name} has {reported}, and {held} are reserved")
        found += [f"{place} is reserved without need" for place in holders.keys() - shared]
        found += [f"{place} is not reserved" for place in shared - holders.keys()]
        return found + await self.world.events("GPUReservationLost")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_reservation_fault_schedule_leaves_the_right_reservation_pods(seed: int) -> None:
    async def scenario() -> None:
        schedule = FaultSchedule(seed)
        try:
            await schedule.world.create_objects(*NODES)
            await schedule.pass_by()
            await schedule.recover()
            assert await schedule.faults() == []
        finally:
            await schedule.world.close()

    run_virtually(scenario())
