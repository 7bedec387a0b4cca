"""Shared devices in a living cluster: what pods are given is written on them, known at once, and survives restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stromboli.core.actions import ACTIONS
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.kube.objects.catalogue import CONFIG_MAPS, NODES, PODS
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool
from stromboli.scheduler.policy import ActivePolicy
from tests.testing.cases.case import configuration
from tests.testing.invariants import check
from tests.testing.manifests.builders import gang
from tests.testing.manifests.shared_devices import REGISTER, VGPU, VGPU_IDS, cards, device_config, ids_in, sharing, vgpu
from tests.testing.world import World, policy_of, running_cluster

HALF = vgpu(memory=8000)
LOCK = "volcano.sh/mutex.lock"
NODE = "node-00"


def one_node() -> NodePool:
    resources = {"cpu": "32", "memory": "64Gi", "pods": "110", "volcano.sh/vgpu-number": "20"}
    return NodePool(1, resources=resources)


async def register(world: World, text: str) -> None:
    """Annotations of the node's device plugin."""
    await world.patch(NODES, NODE, {"metadata": {"annotations": {REGISTER: text}}})


async def devices(world: World, prefix: str = "") -> list[str]:
    """What the pods that have a node were given."""
    return sorted(ids_in((pod.metadata.annotations or {})[VGPU_IDS]) for pod in await world.bound(prefix))


async def test_devices_are_written_on_pods_and_known_after_a_restart() -> None:
    async with running_cluster(one_node(), bare=True, policy=policy_of(VGPU)) as world:
        await register(world, cards("g0", "g1"))
        await world.create(gang(3, more=HALF, name="first"))
        await world.until_bound("first", 3)
        assert await devices(world) == ["g0", "g1", "g1"]
        await world.kill()
        await world.start()
        await world.create(gang(2, more=HALF, name="second", minimum=1))
        await world.until_bound("second", 1)
        await world.cycles(3)
        assert await devices(world) == ["g0", "g0", "g1", "g1"]
        await world.delete(PODS, "first-task-0", namespace="default", grace_period=0)
        await world.until_bound("second", 2)
        assert await devices(world) == ["g0", "g0", "g1", "g1"]
        await check(world, torn=["first"], overfull=[NODE])


async def test_a_registration_that_changes_is_heard() -> None:
    async with running_cluster(one_node(), bare=True, policy=policy_of(VGPU)) as world:
        await world.create(gang(2, more=HALF, name="first"))
        await world.until_condition("first", "had no GPUs to share")
        await register(world, "nonsense")
        await register(world, cards("g0"))
        await world.until_bound("first", 2)
        await check(world, overfull=[NODE])


async def test_the_config_map_of_devices_is_followed() -> None:
    sets = "nvidia: {knownMigGeometries: [{models: [X1], allowedGeometries: [{group: g, geometries: [%s]}]}]}"
    async with running_cluster(one_node(), bare=True, policy=policy_of(VGPU)) as world:
        await register(world, cards("g0", kind="X1", mode="mig"))
        await world.create(gang(2, more=HALF, name="first"))
        await world.until_condition("first", "didn't have enough free")
        await world.create(device_config(sets % "{name: i, memory: 8000, count: 2}"))
        try:
            await world.until_bound("first", 2)
            assert await devices(world) == ["g0[g-0]", "g0[g-1]"]
        finally:
            await world.delete(CONFIG_MAPS, "volcano-vgpu-device-config", namespace="kube-system")


async def test_a_back_end_is_switched_on_while_everything_runs(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(configuration("gang", "predicates"))
    policy = ActivePolicy(Registry(PLUGINS, ACTIONS), str(file))
    async with running_cluster(one_node(), bare=True, policy=policy) as world:
        await register(world, cards("g0"))
        await world.create(gang(2, more=HALF, name="first"))
        await world.until_condition("first", "Insufficient volcano.sh/vgpu-memory")
        fresh = file.with_suffix(".new")
        fresh.write_text(VGPU)
        fresh.replace(file)
        await world.until_bound("first", 2)
        assert await devices(world) == ["g0", "g0"]
        await check(world, overfull=[NODE])


async def lock_of(world: World) -> str:
    node: Any = await world.client.get(NODES, NODE)
    return str((node.metadata.annotations or {}).get(LOCK, ""))


async def test_a_node_is_locked_until_its_device_plugin_is_done() -> None:
    policy = policy_of(sharing(VGPUEnable=True, NodeLockEnable=True))
    async with running_cluster(one_node(), bare=True, policy=policy) as world:
        await register(world, cards("g0"))
        await world.create(gang(2, more=HALF, name="first", minimum=1))
        await world.until_bound("first", 1)
        taken = await lock_of(world)
        assert taken
        await world.cycles(3)
        assert len(await world.bound("first")) == 1, "one at a time"
        await world.patch(NODES, NODE, {"metadata": {"annotations": {LOCK: None}}})
        await world.until_bound("first", 2)
        assert await lock_of(world)
