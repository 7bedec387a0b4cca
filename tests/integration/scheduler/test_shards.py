"""A node that moves between shards: its pods are listed before it is used, and placements in progress end first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stromboli.core.config.bind_options import REQUEST
from stromboli.core.model.nodes.shards import ShardChoice, ShardMode
from stromboli.kube.objects.catalogue import LEASES, NODE_SHARDS, NODES
from stromboli.local.api_server.faults import HangWatch, Hold, LoseAnswer, Match
from stromboli.scheduler.sharding.liveness import lease_of
from stromboli.scheduler.sharding.settings import ShardSettings
from tests.testing.cases.sharding import OUTSIDE, node_shard
from tests.testing.manifests.builders import foreign, gang
from tests.testing.world import World, cpus, running_cluster

pytestmark = pytest.mark.only("embedded", because="faults of the server are made")

NODE = "node-00"
OURS = ShardSettings(ShardChoice(ShardMode.HARD, "ours"), retry_period=0.1)


async def desire(world: World, *nodes: str) -> None:
    await world.patch(NODE_SHARDS, "ours", {"spec": {"nodesDesired": list(nodes)}})


async def others_use(world: World, *nodes: str) -> None:
    await world.patch(NODE_SHARDS, "theirs", {"status": {"nodesInUse": list(nodes)}}, subresource="status")


async def until_event(world: World, **expected: list[str]) -> None:
    async def reached() -> bool:
        status = (await world.client.get(NODE_SHARDS, "ours")).status
        return all((getattr(status, name) or []) == nodes for name, nodes in expected.items())

    await world.until(reached, f"status of the shard is {expected}")


async def test_pods_of_a_new_node_are_listed_before_it_is_used() -> None:
    async with running_cluster(cpus(1), bare=True, starts=False, shard=OURS) as world:
        await world.create(node_shard("ours", ""), node_shard("theirs", ""))
        await others_use(world, NODE)
        await world.start()
        await world.create(gang(1, 2, name="gang"))
        await world.until_condition("gang", OUTSIDE)
        fault = world.faults.add(Match(verb="watch", plural="pods"), HangWatch(), times=None)
        await world.create(foreign(NODE, cpu=3))
        await desire(world, NODE)
        await until_event(world, nodes_in_use=[], nodes_to_add=[NODE])
        await others_use(world)
        await until_event(world, nodes_in_use=[NODE], nodes_to_add=[])
        await world.until_condition("gang", "Insufficient cpu")
        assert fault.fired
        assert await world.bound("gang") == []


async def test_a_node_is_given_up_when_the_binds_on_it_have_ended() -> None:
    async with running_cluster(cpus(1), bare=True, starts=False, shard=OURS) as world:
        await world.create(node_shard("ours", [NODE]))
        held = Hold()
        world.faults.add(Match(verb="create", plural="pods", subresource="binding"), held)
        await world.start()
        await until_event(world, nodes_in_use=[NODE])
        await world.create(gang(1, 1, name="gang"))
        await world.until_true(lambda: world.scheduler.cluster.assumptions.placements, "the bind is under way")
        await desire(world)
        await until_event(world, nodes_in_use=[NODE], nodes_to_remove=[NODE])
        held.release()
        await until_event(world, nodes_in_use=[], nodes_to_remove=[])
        await world.until_bound("gang", 1)


async def test_a_claim_without_an_answer_is_found_out_about() -> None:
    async with running_cluster(cpus(1), bare=True, starts=False, shard=OURS) as world:
        await world.create(node_shard("ours", [NODE]))
        fault = world.faults.add(Match(verb="patch", plural="nodeshards", subresource="status"), LoseAnswer(), times=2)
        await world.start(timeout=0.5)
        await world.create(gang(1, 1, name="gang"))
        await world.until_bound("gang", 1)
        assert fault.fired


async def test_nodes_of_a_shard_that_was_deleted_are_left_to_what_is_under_way() -> None:
    async with running_cluster(cpus(2), bare=True, starts=False, shard=OURS) as world:
        await world.create(node_shard("ours", ""), node_shard("theirs", ""))
        await others_use(world, NODE)
        await world.start()
        await desire(world, NODE)
        await until_event(world, nodes_in_use=[], nodes_to_add=[NODE])
        await world.client.delete(NODE_SHARDS, "theirs")
        await desire(world, NODE, "node-01")
        await until_event(world, nodes_in_use=["node-01"], nodes_to_add=[NODE])


@pytest.mark.parametrize(
    ("deletion_grace", "lease"),
    [pytest.param(0.2, False, id="after a while"), pytest.param(1e6, True, id="given back")],
)
async def test_and_are_taken_when_nothing_can_be_under_way(deletion_grace: float, lease: bool) -> None:
    async with running_cluster(
        cpus(1), bare=True, starts=False, shard=replace(OURS, deletion_grace=deletion_grace)
    ) as world:
        await world.create(node_shard("ours", ""), node_shard("theirs", ""))
        await others_use(world, NODE)
        if lease:
            body = {"metadata": {"name": lease_of("theirs")}, "spec": {"holderIdentity": ""}}
            await world.client.create(LEASES, body, namespace=OURS.namespace)
        await world.start()
        await desire(world, NODE)
        await until_event(world, nodes_in_use=[], nodes_to_add=[NODE])
        await world.client.delete(NODE_SHARDS, "theirs")
        await until_event(world, nodes_in_use=[NODE], nodes_to_add=[])


async def test_our_shard_is_deleted_and_made_again_while_a_bind_is_under_way() -> None:
    async with running_cluster(cpus(1, cpu=1), bare=True, starts=False, shard=OURS) as world:
        await world.create(node_shard("ours", [NODE]))
        held = Hold()
        world.faults.add(Match(verb="create", plural="pods", subresource="binding"), held)
        await world.start()
        await world.create(gang(1, 1, name="first"), gang(1, 1, name="second"))
        await world.until_true(lambda: world.scheduler.cluster.assumptions.placements, "the bind is under way")
        await world.client.delete(NODE_SHARDS, "ours")
        await world.until_condition("second", OUTSIDE)
        await world.create(node_shard("ours", [NODE]))
        await until_event(world, nodes_in_use=[NODE])
        await world.until_condition("second", "Insufficient cpu")
        held.release()
        await world.until_bound("first", 1)
        assert await world.bound("second") == []


async def test_a_node_that_is_made_again_is_claimed_again() -> None:
    async with running_cluster(cpus(1), bare=True, starts=False, shard=OURS) as world:
        await world.create(node_shard("ours", [NODE]))
        await world.start()
        await until_event(world, nodes_in_use=[NODE])
        await world.client.delete(NODES, NODE)
        await until_event(world, nodes_in_use=[])
        await world.add_nodes(cpus(1))
        await until_event(world, nodes_in_use=[NODE])
        await world.create(gang(1, 1, name="gang"))
        await world.until_bound("gang", 1)


async def test_missing_soft_shard_is_waited_for_and_reported() -> None:
    soft = replace(OURS, choice=ShardChoice(ShardMode.SOFT, "ours"))
    async with running_cluster(cpus(1), bare=True, starts=False, shard=soft, bind_mode=REQUEST) as world:
        await world.start()
        keeper = world.scheduler.shard
        assert keeper is not None
        await world.until_true(lambda: "NodeShard ours does not exist" in keeper.problem, "a missing shard is reported")
        assert not keeper.is_ready
        await world.create(node_shard("ours", [NODE]))
        await world.until_true(lambda: keeper.is_ready and not keeper.problem, "it goes on")


async def test_node_removed_from_the_record_is_claimed_again(tmp_path: Path) -> None:
    async with running_cluster(cpus(1), bare=True, starts=False, home=tmp_path, shard=OURS) as world:
        await world.create(node_shard("ours", [NODE]))
        await world.start()
        await until_event(world, nodes_in_use=[NODE])
        await world.patch(NODE_SHARDS, "ours", {"status": {"nodesInUse": []}}, subresource="status")
        await until_event(world, nodes_in_use=[NODE])
        await world.create(gang(1, 1, name="gang"))
        await world.until_bound("gang", 1)
        table = [line.split() for line in (await world.kubectl("get", "nodeshards")).splitlines()]
        assert table[0] == ["NAME", "NODES", "WAITS", "FOR", "GIVES", "UP", "UPDATED", "AGE"]
        assert table[1][:4] == ["ours", "1", "[]", "[]"]
