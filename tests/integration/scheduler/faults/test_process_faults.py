"""Schedulers that are killed, stopped, out of time, out of disk, or dismissed: the next one finds its way."""

from __future__ import annotations

import asyncio
import io
import logging
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stromboli.kube.objects.catalogue import PODS
from stromboli.local.api_server.faults import Answer, Delay, Match
from stromboli.scheduler.dumps import DumpWriter
from tests.testing.held_requests import HeldRequests
from tests.testing.invariants import check
from tests.testing.manifests.builders import foreign, gang
from tests.testing.world import SOON, World, cpus, running_cluster

pytestmark = pytest.mark.only("embedded", because="bindings are held up by the server")

BINDINGS = Match(verb="create", plural="pods", subresource="binding")
EVICTIONS = Match(verb="create", plural="pods", subresource="eviction")
INDEFINITELY = 60.0


async def killed_after(world: World, binds: int, size: int) -> None:
    """A scheduler binds so many members of a gang, and is gone in the middle of the next."""
    fault = world.faults.add(BINDINGS, Delay(INDEFINITELY), times=None, after=binds)
    await world.create(gang(size, 1, name="gang"))
    await world.start()
    await world.until_true(lambda: fault.fired or binds == size)
    await world.until_bound("gang", binds)
    await world.kill()
    world.faults.clear()


@pytest.mark.parametrize("binds", range(5))
async def test_a_successor_completes_a_gang_that_was_left_half_bound(binds: int) -> None:
    async with running_cluster(cpus(1), bare=True, starts=False, bind_workers=1) as world:
        await killed_after(world, binds, 4)
        await world.start()
        await world.until_bound("gang", 4)
        await check(world)


@pytest.mark.parametrize("binds", [1, 3])
async def test_a_successor_unwinds_a_gang_that_can_not_be_completed(binds: int) -> None:
    async with running_cluster(cpus(1), starts=False, bind_workers=1, heal=SOON) as world:
        await killed_after(world, binds, 4)
        await world.create(foreign("node-00", 4 - binds))
        await world.start()
        await world.until_bound("gang", 0)
        await check(world)


async def test_a_successor_goes_on_with_an_unwinding_that_was_broken_off() -> None:
    async with running_cluster(cpus(1), starts=False, bind_workers=1, heal=SOON) as world:
        await killed_after(world, 3, 4)
        await world.create(foreign("node-00", 1))
        fault = world.faults.add(EVICTIONS, Delay(INDEFINITELY), times=None, after=1)
        await world.start()
        await world.until_true(lambda: fault.fired)
        await world.until_bound("gang", 2)
        await world.kill()
        world.faults.clear()
        await world.start()
        await world.until_bound("gang", 0)
        await check(world)


async def test_a_gang_that_lost_members_to_others_is_not_unwound_by_a_successor() -> None:
    """A pod was deleted and created again after the commit: no commit was interrupted."""
    async with running_cluster(cpus(1), starts=False, heal=SOON) as world:
        await world.create(gang(4, 1, name="gang"))
        await world.start()
        await world.until_bound("gang", 4)
        await world.until_phase("gang", "Running")
        await world.stop()
        await world.delete(PODS, "gang-task-0", grace_period=0)
        await next_second()
        await world.create(foreign("node-00", 1), gang(4, 1, name="gang")[1])
        await world.start()
        await world.cycles(3)
        assert world.scheduler.recovery.open == 0
        assert len(await world.bound("gang")) == 3
        await check(world, torn=["gang"])


async def next_second() -> None:
    """Creation timestamps have a resolution of one second."""
    await asyncio.sleep(1.0 - time.time() % 1.0)


async def test_a_scheduler_that_is_asked_to_stop_finishes_the_gangs_it_has_begun() -> None:
    async with running_cluster(cpus(2), bare=True, starts=False, bind_workers=1) as world:
        fault = world.faults.add(BINDINGS, Delay(0.1), times=None)
        await world.create(gang(4, 1, name="gang"), gang(4, 1, name="late"))
        await world.start()
        await world.until_true(lambda: fault.fired == 2)
        await world.stop()
        world.faults.clear()
        counts = sorted([len(await world.bound("gang")), len(await world.bound("late"))])
        assert counts == [0, 4], "one is whole, the other was not begun"
        await world.start()
        await world.until_bound("", 8)
        await check(world)


async def test_process_that_does_not_lead_writes_nothing() -> None:
    in_charge = False
    async with running_cluster(cpus(1), bare=True, starts=False) as world:
        await world.start(is_leader=lambda: in_charge)
        await world.until_true(lambda: world.scheduler.watches.is_synced)
        await world.create(gang(2, 1, name="gang"))
        turns = 0

        def on_iteration() -> None:
            nonlocal turns
            turns += 1

        world.scheduler.on_iteration = on_iteration
        await world.until_true(lambda: turns > 5)
        assert (world.scheduler.cycles.number, await world.bound()) == (0, [])
        in_charge = True
        await world.until_bound("gang", 2)
        await check(world)


async def test_leader_that_loses_its_lease_during_a_gang_stops_and_the_next_one_completes_it() -> None:
    in_charge = True
    async with running_cluster(cpus(1), bare=True, starts=False, bind_workers=1) as world:
        bind = HeldRequests(world, after=1)
        await world.create(gang(4, 1, name="gang"))
        await world.start(is_leader=lambda: in_charge)
        await bind.begins()
        in_charge = False
        bind.ends()
        await world.until_true(lambda: not world.scheduler.executor.waiting)
        assert len(await world.bound("gang")) == 2
        await world.kill()
        world.faults.clear()
        await world.start()
        await world.until_bound("gang", 4)
        await check(world)


CLOCKS: dict[str, Callable[[], float]] = {
    "an hour ahead": lambda: time.time() + 3600,
    "an hour behind": lambda: time.time() - 3600,
    "twice as fast": lambda: time.time() * 2,
    "standing still": lambda: 1_700_000_000.0,
}


@pytest.mark.parametrize("clock", CLOCKS.values(), ids=CLOCKS)
async def test_gangs_are_bound_and_healed_by_a_clock_that_is(clock: Callable[[], float]) -> None:
    async with running_cluster(cpus(1), bare=True, starts=False) as world:
        await world.create(gang(3, 1, name="gang"))
        third = Match(verb="create", plural="pods", subresource="binding", name="gang-task-2")
        world.faults.add(third, Answer(422, "Invalid"), times=1)
        await world.start()
        world.scheduler.cycles._wall_clock = world.scheduler.tracker._wall_clock = clock
        await world.until_bound("gang", 3)
        assert sums_below_zero(world) == []
        await check(world)


@pytest.mark.parametrize("clock", CLOCKS.values(), ids=CLOCKS)
async def test_a_successor_unwinds_what_was_decided_by_a_clock_that_is(clock: Callable[[], float]) -> None:
    async with running_cluster(cpus(1), starts=False, bind_workers=1, heal=SOON) as world:
        fault = world.faults.add(BINDINGS, Delay(INDEFINITELY), times=None, after=2)
        await world.create(gang(4, 1, name="gang"))
        await world.start()
        world.scheduler.cycles._wall_clock = world.scheduler.tracker._wall_clock = clock
        await world.until_true(lambda: fault.fired)
        await world.kill()
        world.faults.clear()
        await world.create(foreign("node-00", 2))
        await world.start()
        await world.until_bound("gang", 0)
        await check(world)


def sums_below_zero(world: World) -> list[str]:
    """Times in the metrics that are less than none."""
    text, _ = world.scheduler.metrics.render()
    return [line for line in text.decode().splitlines() if "_sum" in line and float(line.split()[-1]) < 0]


@pytest.mark.parametrize("broken", ["no folder", "a file"])
async def test_a_dump_that_cannot_be_written_stops_nothing(broken: str, tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    if broken == "a file":
        folder.write_text("")
    async with running_cluster(cpus(1), bare=True, dump_folder=str(folder)) as world:
        dumping = DumpWriter(world.scheduler, world.client)
        world.scheduler.health.dump = dumping.dump
        world.scheduler.health.dump()
        await world.until_true(lambda: not dumping._tasks)
        await world.create(gang(1, 1, name="gang"))
        await world.until_bound("gang", 1)
        await check(world)


async def test_a_log_that_cannot_be_written_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    handler = logging.StreamHandler(closed)
    monkeypatch.setattr(logging, "raiseExceptions", False)
    logger = logging.getLogger("stromboli")
    logger.addHandler(handler)
    try:
        async with running_cluster(cpus(1), bare=True) as world:
            await world.create(gang(1, 1, name="gang"))
            await world.until_bound("gang", 1)
            await check(world)
    finally:
        logger.removeHandler(handler)
