"""Nodes that are cordoned, lost, ending or smaller than they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from stromboli.kube.objects.catalogue import NODES, PODS
from stromboli.local.fakes.kubelet.simulated_nodes import READY
from tests.testing.invariants import check
from tests.testing.manifests.builders import Manifest, gang
from tests.testing.world import World, cpus, running_cluster


async def test_a_cordoned_node_takes_nothing_until_it_is_uncordoned(tmp_path: Path) -> None:
    async with running_cluster(cpus(1), home=tmp_path) as world:
        await world.create(gang(1, 1, name="before"))
        await world.until_bound("before", 1)
        await world.kubectl("cordon", "node-00")
        await world.create(gang(1, 1, name="after"))
        await world.until_condition("after", "0/1 nodes are available")
        assert len(await world.bound("before")) == 1, "what runs is not touched"
        await world.kubectl("uncordon", "node-00")
        await world.until_bound("after", 1)
        await check(world)


TAINTED = {"spec": {"taints": [{"key": "example.com/broken", "effect": "NoSchedule"}]}}
CHANGES: dict[str, tuple[Manifest, Manifest]] = {
    "not ready": (
        {"metadata": {"annotations": {READY: "false"}}},
        {"metadata": {"annotations": {READY: "true"}}},
    ),
    "tainted": (TAINTED, {"spec": {"taints": None}}),
}


@pytest.mark.parametrize(("worse", "better"), CHANGES.values(), ids=CHANGES)
async def test_a_node_that_is_unwell_takes_nothing_until_it_is_well(worse: Manifest, better: Manifest) -> None:
    async with running_cluster(cpus(1)) as world:
        await world.patch(NODES, "node-00", worse)
        await world.until(lambda: keeps_away(world), "the node keeps pods away")
        await world.create(gang(1, 1, name="gang"))
        await world.until_condition("gang", "0/1 nodes are available")
        assert await world.bound() == []
        await world.patch(NODES, "node-00", better)
        await world.until_bound("gang", 1)
        await check(world)


async def keeps_away(world: World) -> bool:
    return bool((await world.client.get(NODES, "node-00")).spec.taints)


async def test_a_node_that_is_ending_takes_nothing_more() -> None:
    async with running_cluster(cpus(2), bare=True) as world:
        await world.patch(NODES, "node-00", {"metadata": {"finalizers": ["example.com/drain"]}})
        await world.delete(NODES, "node-00")
        await world.until_true(lambda: (node := world.scheduler.cluster.nodes.find("node-00"))
                               and node.metadata.deletion_timestamp)  # fmt: skip
        await world.create(gang(2, 2, name="gang"))
        assert {pod.spec.node_name for pod in await world.until_bound("gang", 2)} == {"node-01"}
        await check(world)


async def test_a_node_with_less_than_it_gave_away_takes_nothing_and_breaks_nothing() -> None:
    async with running_cluster(cpus(2)) as world:
        await world.create(gang(4, 2, name="before"))
        await world.until_bound("before", 4)
        smaller = {"status": {"allocatable": {"cpu": "1"}, "capacity": {"cpu": "1"}}}
        await world.patch(NODES, "node-00", smaller, subresource="status")
        await world.create(gang(1, 1, name="after"))
        await world.until_condition("after", "Insufficient cpu")
        assert len(await world.bound("before")) == 4
        on_other = next(pod for pod in await world.bound("before") if pod.spec.node_name == "node-01")
        await world.delete(PODS, on_other.metadata.name)
        placed = await world.until_bound("after", 1)
        assert placed[0].spec.node_name == "node-01"
        await check(world, overfull=["node-00"], torn=["before"])


async def test_pods_of_a_lost_node_free_nothing_until_they_are_gone_and_the_gang_is_placed_again() -> None:
    async with running_cluster(cpus(2)) as world:
        await world.create(gang(1, 3, name="gang"))
        first = (await world.until_bound("gang", 1))[0].spec.node_name or ""
        await world.delete(NODES, first)
        await world.until(lambda: gone(world, "gang-task-0"), "the pod went with its node")
        await world.create(gang(1, 3, name="gang")[1:])
        placed = await world.until_bound("gang", 1)
        assert placed[0].spec.node_name != first
        await check(world)


async def gone(world: World, name: str) -> bool:
    return await world.pod(name) is None
