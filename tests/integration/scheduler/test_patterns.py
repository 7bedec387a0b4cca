"""Troubles that are a pattern rather than a fault: rivals, flapping, mass drains, herds."""

from __future__ import annotations

import asyncio

import pytest

from stromboli.kube.objects.catalogue import NODES, PODS
from stromboli.local.up.local_cluster import local_cluster
from tests.testing.invariants import check
from tests.testing.manifests.builders import gang
from tests.testing.stage import ServerHandle
from tests.testing.world import QUICK, World, cpus, policy_of, running_cluster


async def test_of_two_gangs_that_need_most_of_the_cluster_exactly_one_starts() -> None:
    """Their pods come in turns, so that neither is ahead."""
    (left, *ours), (right, *theirs) = gang(6, 1, name="left"), gang(6, 1, name="right")
    async with running_cluster(cpus(2, 5)) as world:
        await world.create(left, right, [pair for both in zip(ours, theirs, strict=True) for pair in both])
        await world.until_bound("", 6)
        await world.cycles(3)
        assert sorted([len(await world.bound("left")), len(await world.bound("right"))]) == [0, 6]
        await check(world)


async def test_a_node_that_flaps_tears_no_gang() -> None:
    async with running_cluster(cpus(2, 2)) as world:
        for number in range(6):
            await world.patch(NODES, "node-01", {"spec": {"unschedulable": number % 2 == 0 or None}})
            await world.create(gang(2, 1, name=f"gang-{number}"))
            await world.cycles(1)
        await world.until(lambda: untainted(world), "the node is well again")
        await world.until_bound("gang", 4)
        await check(world)


async def untainted(world: World) -> bool:
    node = await world.client.get(NODES, "node-01")
    return not node.spec.taints and not node.spec.unschedulable


async def test_gangs_of_drained_nodes_start_again_on_the_others() -> None:
    async with running_cluster(cpus(4, 2)) as world:
        await world.create(gang(2, 2, name="first"), gang(2, 2, name="second"))
        placed = await world.until_bound("", 4)
        drained = ("node-00", "node-01")
        for name in drained:
            await world.patch(NODES, name, {"spec": {"unschedulable": True}})
        victims = [pod.metadata.name for pod in placed if pod.spec.node_name in drained]
        await asyncio.gather(*(world.delete(PODS, name) for name in victims))
        await world.until(lambda: gone(world, victims), "the drained pods are gone")
        again = {
            member["metadata"]["name"]: member for name in ("first", "second") for member in gang(2, 2, name=name)[1:]
        }
        await world.create([again[name] for name in victims])
        await world.cycles(3)
        assert all(pod.spec.node_name not in drained for pod in await world.bound())
        for name in drained:
            await world.patch(NODES, name, {"spec": {"unschedulable": None}})
        await world.until_bound("", 4)
        await check(world)


async def gone(world: World, names: list[str]) -> bool:
    return not {pod.metadata.name for pod in await world.pods()} & set(names)


async def test_many_pending_gangs_start_when_capacity_is_added() -> None:
    async with running_cluster() as world:
        await world.create([gang(3, 1, name=f"gang-{number}") for number in range(10)])
        await world.until_condition("gang-9", "0/0 nodes are available")
        await world.add_nodes(cpus(3, 4))
        await world.until_bound("gang", 12)
        await world.cycles(3)
        assert len(await world.bound("gang")) == 12
        await check(world)


@pytest.mark.only("embedded", because="a local cluster has its own server")
async def test_local_cluster_schedules_gangs() -> None:
    async with local_cluster(policy_of(), pools=[cpus(2)], options=QUICK) as running:
        world = World(
            ServerHandle(running.server.connection, running.server), running.client, running.scheduler.policy, QUICK
        )
        world._scheduler = running.scheduler
        await world.create(gang(3, 2, name="gang"))
        await world.until_bound("gang", 3)
        await world.until_phase("gang", "Running")
        await check(world)
