"""While volumes are made, things happen: the scheduler dies, the pod goes, the node is lost."""

from __future__ import annotations

import asyncio

import pytest

from stromboli.kube.objects.catalogue import CLAIMS, NODES, PODS, VOLUMES
from stromboli.kube.objects.storage import BIND_COMPLETED, PersistentVolumeClaim
from tests.testing.invariants import check
from tests.testing.manifests.builders import Manifest, gang_of, pod
from tests.testing.manifests.storage import DRIVER, claim, storage_class, using, volume
from tests.testing.world import World, cpus, running_cluster

pytestmark = pytest.mark.only("embedded", because="only the test may bind claims and volumes")

NAMES = ("x", "y")
#: A gang of two pods, each with a claim of its own for which a volume has to be made.
GANG = [
    storage_class("made", DRIVER),
    *(claim(name, of="made") for name in NAMES),
    *gang_of(*(pod(volumes=using(name)) for name in NAMES)),
]


async def claim_of(world: World, name: str) -> PersistentVolumeClaim:
    return await world.client.get(CLAIMS, name, namespace="default")


async def until_selected(world: World) -> list[str]:
    """Wait until both claims have a selected node; these nodes."""

    async def selected() -> list[str]:
        nodes = [(await claim_of(world, name)).selected_node for name in NAMES]
        return nodes if all(nodes) else []

    return await world.until(selected, "both claims have a selected node")


async def serve(world: World, name: str) -> None:
    """Do what a provisioner and a controller of volumes would do."""
    wanted = await claim_of(world, name)
    made: Manifest = volume(f"for-{name}", of="made", on=wanted.selected_node, of_claim=name, uid=wanted.metadata.uid)
    await world.client.create(VOLUMES, {"metadata": {"name": f"for-{name}"}, "spec": made["spec"]})
    changes = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}, "spec": {"volumeName": f"for-{name}"}}
    await world.client.patch(CLAIMS, name, changes, namespace="default")


async def until_bound(world: World, nodes: list[str]) -> None:
    await world.until_bound("gang", 2)
    assert sorted(each.spec.node_name or "" for each in await world.bound("gang")) == sorted(nodes)
    assert list(world.binds.values()) == [1, 1]


async def test_a_scheduler_that_dies_leaves_claims_that_its_successor_completes() -> None:
    async with running_cluster(cpus(2, 4), bare=True, starts=False) as world:
        await world.create(GANG)
        await world.start()
        nodes = await until_selected(world)
        await serve(world, "x")
        await world.kill()
        await world.start()
        await world.cycles()
        assert await world.bound("gang") == []
        await serve(world, "y")
        await until_bound(world, nodes)
        await check(world)


async def test_a_scheduler_that_is_asked_to_go_does_not_wait_for_volumes() -> None:
    async with running_cluster(cpus(2, 4), bare=True, starts=False, grace=60.0) as world:
        await world.create(GANG)
        await world.start()
        nodes = await until_selected(world)
        async with asyncio.timeout(30):
            await world.stop()
        assert [(await claim_of(world, name)).selected_node for name in NAMES] == nodes
        await world.start()
        for name in NAMES:
            await serve(world, name)
        await until_bound(world, nodes)


async def test_deleted_pod_releases_its_volume_choices() -> None:
    async with running_cluster(cpus(2, 4), bare=True, starts=False) as world:
        await world.create(GANG)
        await world.start()
        await until_selected(world)
        await world.delete(PODS, "gang-task-0", grace_period=0)

        async def is_taken_back() -> bool:
            return not any([(await claim_of(world, name)).selected_node for name in NAMES])

        await world.until(is_taken_back, "no claim names a node any more")
        assert await world.bound("gang") == []


async def test_a_node_that_is_lost_meanwhile_is_given_up() -> None:
    async with running_cluster(cpus(2, 4), bare=True, starts=False) as world:
        await world.create(GANG)
        await world.start()
        first = (await until_selected(world))[0]
        await world.patch(NODES, first, {"spec": {"unschedulable": True}})

        async def elsewhere() -> bool:
            nodes = [(await claim_of(world, name)).selected_node for name in NAMES]
            return all(nodes) and first not in nodes

        await world.until(elsewhere, "both claims have another selected node")
        for name in NAMES:
            await serve(world, name)
        await world.until_bound("gang", 2)
        await check(world)
