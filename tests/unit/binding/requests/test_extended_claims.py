"""Binders create claims for extended resources, once, across crashes at every write."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.cluster.objects.claims.extended_resources import EXTENDED, claim_name
from stromboli.kube.objects.catalogue import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS
from stromboli.kube.objects.claims import EXTENDED_CLAIM
from tests.testing.binder.binder_world import World
from tests.testing.virtual_time import run_virtually
from tests.unit.binding.requests.test_claims_plugin import carried_out, died, states
from tests.unit.binding.steps.test_claim_step import on

WRITES = ("create resourceclaims", "patch resourceclaims", "patch resourceclaims/status", "patch pods/status")
NAME = "example.com/gpu"
REQUEST = "container-0-request-1"


async def prepared(nodes: str = "aa", **facts: Any) -> World:
    """Create a gang whose members request an extended resource, and its request."""
    world = World()
    for name in "ab":
        await world.node(name)
    spec = {"extendedResourceName": NAME}
    await world.client.create(DEVICE_CLASSES, {"metadata": {"name": "gpu"}, "spec": spec})
    pods = {f"gang-{place}": node for place, node in enumerate(nodes)}
    for name in pods:
        resources = {"requests": {"cpu": "1", NAME: "1"}, "limits": {NAME: "1"}}
        await world.pod(name, 1, containers=[{"name": "main", "image": "example/main", "resources": resources}])
    members = {
        pod: {"resourceClaimAllocations": [{"name": EXTENDED, "allocation": allocated(node, f"gpu-{place}")}]}
        for place, (pod, node) in enumerate(pods.items())
    }
    await world.request("gang", pods, facts=members, **facts)
    return world


def allocated(node: str, device: str) -> dict[str, Any]:
    allocation = on(node, device)
    [result] = allocation["devices"]["results"]
    return {**allocation, "devices": {"results": [{**result, "request": REQUEST}]}}


async def expected(world: World) -> dict[str, tuple[str, list[str], bool]]:
    found = (await world.client.list(PODS)).items
    return {claim_name(pod): (f"gpu-{pod.metadata.name[-1]}", [pod.metadata.name], True) for pod in found}


def test_every_member_gets_a_claim() -> None:
    async def scenario() -> None:
        world = await prepared()
        assert await carried_out(world) == ("Succeeded", "aa")
        assert await states(world) == await expected(world)
        for pod in (await world.client.list(PODS)).items:
            claim = await world.client.get(RESOURCE_CLAIMS, claim_name(pod), namespace="default")
            [request] = claim.spec.devices.requests if claim.spec.devices and claim.spec.devices.requests else []
            assert request.exactly is not None
            assert (request.name, request.exactly.device_class_name, request.exactly.count) == (REQUEST, "gpu", 1)
            assert [owner.uid for owner in claim.metadata.owner_references or ()] == [pod.metadata.uid]
            assert (claim.metadata.annotations or {})[EXTENDED_CLAIM] == "true"
            status = pod.status.extended_resource_claim_status
            assert status is not None
            assert status.resource_claim_name == claim.metadata.name
            [mapping] = status.request_mappings or []
            found = mapping.container_name, mapping.resource_name, mapping.request_name
            assert found == ("main", NAME, REQUEST)
        await world.close()

    run_virtually(scenario())


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("write", WRITES)
def test_binder_crash_is_completed_by_the_next_binder(write: str, moment: str) -> None:
    async def scenario() -> None:
        world = await prepared()
        await died(world, f"{moment} {write}", 1)
        assert await carried_out(world) == ("Succeeded", "aa")
        assert await states(world) == await expected(world)
        await world.close()

    run_virtually(scenario())


REPLACED = ("delete resourceclaims",)


@pytest.mark.parametrize("moment", ["", *(f"{moment} {write}" for write in REPLACED for moment in ("before", "after"))])
def test_claim_of_an_earlier_attempt_with_other_requests_is_replaced(moment: str) -> None:
    async def scenario() -> None:
        world = await prepared("a")
        [pod] = (await world.client.list(PODS)).items
        exact = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}
        spec = {"devices": {"requests": [{"name": REQUEST, "exactly": exact}]}}
        await world.client.create(
            RESOURCE_CLAIMS, {"metadata": {"name": claim_name(pod)}, "spec": spec}, namespace="default"
        )
        if moment:
            await died(world, moment, 1)
        assert await carried_out(world) == ("Succeeded", "a")
        assert await states(world) == await expected(world)
        claim = await world.client.get(RESOURCE_CLAIMS, claim_name(pod), namespace="default")
        assert claim.spec.devices is not None
        assert [each.exactly and each.exactly.count for each in claim.spec.devices.requests or ()] == [1]
        await world.close()

    run_virtually(scenario())


def test_claims_are_deallocated_when_a_member_cannot_be_bound() -> None:
    """The claim of the second member is being deleted."""

    async def scenario() -> None:
        world = await prepared(backoffLimit=1, deadlineSeconds=20)
        first, second = sorted((await world.client.list(PODS)).items, key=lambda pod: pod.metadata.name)
        metadata = {"name": claim_name(second), "finalizers": ["example.com/kept"]}
        await world.client.create(RESOURCE_CLAIMS, {"metadata": metadata, "spec": {}}, namespace="default")
        await world.client.delete(RESOURCE_CLAIMS, claim_name(second), namespace="default")
        assert await carried_out(world) == ("Failed", "--")
        assert await states(world) == {claim_name(first): ("", [], False), claim_name(second): ("", [], False)}
        await world.close()

    run_virtually(scenario())
