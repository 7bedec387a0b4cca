"""Binders allocate claims as requests describe, and roll back, across crashes at every write."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stromboli.binding.requests.orphans import SWEEP_PAUSE
from stromboli.binding.steps.claims import DynamicResourcesPlugin
from stromboli.kube.objects.catalogue import RESOURCE_CLAIMS
from stromboli.kube.objects.claims import PROTECTION
from tests.testing.binder.binder_world import World
from tests.testing.manifests.resource_claims import claim_spec, claiming
from tests.testing.virtual_time import run_virtually
from tests.unit.binding.steps.test_claim_step import on

WRITES = ("patch resourceclaims", "patch resourceclaims/status")


async def prepared(nodes: str = "aa", *, shared: bool = False, cpu: int = 1, **facts: Any) -> World:
    """Create a gang whose members have a claim each, or share one, and its request."""
    world = World()
    for name in "ab":
        await world.node(name)
    pods = {f"gang-{place}": node for place, node in enumerate(nodes)}
    claims = {pod: "all" if shared else f"of-{pod}" for pod in pods}
    for name in sorted({*claims.values()}):
        await world.client.create(
            RESOURCE_CLAIMS, {"metadata": {"name": name}, "spec": claim_spec()}, namespace="default"
        )
    for pod in pods:
        await world.pod(pod, cpu, resourceClaims=claiming(claims[pod]))
    members = {
        pod: {"resourceClaimAllocations": [{"name": claims[pod], "allocation": on(node, f"gpu-{place}")}]}
        for place, (pod, node) in enumerate(pods.items())
    }
    await world.request("gang", pods, facts=members, **facts)
    return world


async def states(world: World) -> dict[str, tuple[str, list[str], bool]]:
    """Return by claim its devices, the pods it is reserved for, and whether it has the finalizer."""
    found = {}
    for claim in (await world.client.list(RESOURCE_CLAIMS)).items:
        devices = claim.status.allocation.devices if claim.status.allocation else None
        given = ",".join(str(each.device) for each in (devices.results if devices else None) or ())
        users = sorted(str(user.name) for user in claim.status.reserved_for or ())
        found[claim.metadata.name] = given, users, PROTECTION in (claim.metadata.finalizers or ())
    return found


async def carried_out(world: World) -> tuple[str, str]:
    """Return the phase of the request and the nodes of its members."""
    world.start([DynamicResourcesPlugin()])
    await world.until_settled()
    return (await world.found("gang")).status.phase, await world.places("gang")


GIVEN = {"of-gang-0": ("gpu-0", ["gang-0"], True), "of-gang-1": ("gpu-1", ["gang-1"], True)}


def test_every_member_gets_its_device() -> None:
    async def scenario() -> None:
        world = await prepared()
        assert await carried_out(world) == ("Succeeded", "aa")
        assert await states(world) == GIVEN
        await world.close()

    run_virtually(scenario())


def test_members_share_a_claim() -> None:
    async def scenario() -> None:
        world = await prepared(shared=True)
        assert await carried_out(world) == ("Succeeded", "aa")
        [(device, users, _)] = (await states(world)).values()
        assert (device in ("gpu-0", "gpu-1"), users) == (True, ["gang-0", "gang-1"])
        await world.close()

    run_virtually(scenario())


def test_allocations_are_rolled_back_when_a_claim_is_deleted() -> None:
    async def scenario() -> None:
        world = await prepared(backoffLimit=1, deadlineSeconds=20)
        await world.client.delete(RESOURCE_CLAIMS, "of-gang-1", namespace="default")
        assert await carried_out(world) == ("Failed", "--")
        assert await states(world) == {"of-gang-0": ("", [], False)}
        await world.close()

    run_virtually(scenario())


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("write", WRITES)
def test_binder_crash_during_allocation_is_completed_by_the_next_binder(write: str, moment: str) -> None:
    async def scenario() -> None:
        world = await prepared()
        await died(world, f"{moment} {write}", 1)
        assert await carried_out(world) == ("Succeeded", "aa")
        assert await states(world) == GIVEN
        await world.close()

    run_virtually(scenario())


@pytest.mark.parametrize("shared", [False, True])
def test_request_deleted_while_no_binder_runs_is_rolled_back_by_the_next_binder(shared: bool) -> None:
    """A claim that another pod uses keeps its devices."""

    async def scenario() -> None:
        world = await prepared(shared=shared)
        await died(world, "before create pods/binding", 1)
        await world.remove_request("gang")
        if shared:
            await world.bind_elsewhere("gang-1", "a")
        world.start([DynamicResourcesPlugin()])
        await asyncio.sleep(SWEEP_PAUSE + 5.0)
        found = {name: (bool(devices), users) for name, (devices, users, _) in (await states(world)).items()}
        assert found == (
            {"all": (True, ["gang-1"])} if shared else {"of-gang-0": (False, []), "of-gang-1": (False, [])}
        )
        await world.close()

    run_virtually(scenario())


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("write", WRITES)
def test_binder_crash_during_rollback_is_completed_by_the_next_binder(write: str, moment: str) -> None:
    """The first write of each kind allocates, the second rolls back: one of the two claims is missing."""

    async def scenario() -> None:
        world = await prepared(backoffLimit=1, deadlineSeconds=20)
        await world.client.delete(RESOURCE_CLAIMS, "of-gang-1", namespace="default")
        await died(world, f"{moment} {write}", 2)
        assert await carried_out(world) == ("Failed", "--")
        assert await states(world) == {"of-gang-0": ("", [], False)}
        await world.close()

    run_virtually(scenario())


async def died(world: World, point: str, times: int) -> None:
    running = world.start([DynamicResourcesPlugin()], dies_at=(point, times))

    async def is_dead() -> bool:
        return running.is_dead

    await world.until(is_dead, 60.0)
