"""A binder allocates claims as requests describe, across crashes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stromboli.kube.objects.bind_requests import SUCCEEDED
from stromboli.kube.objects.catalogue import DEVICE_CLASSES, POD_GROUPS, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from stromboli.kube.objects.claims import PROTECTION, AllocatedDevice, ResourceClaim
from stromboli.workloads.groups import GROUP_NAME
from testbed.plane import REQUESTER, ControlPlane
from tests.e2e.binding.test_binder_crashes import Place, dies
from tests.e2e.environment.processes import ground
from tests.testing.manifests.resource_claims import attempted_claim, claim_spec, claiming, device_class, exactly, offer
from tests.unit.binding.requests.test_claims_plugin import WRITES
from tests.unit.binding.steps.test_claim_step import on


@pytest.fixture
async def place(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Place]:
    async with ground(plane, tmp_path, Place) as made:
        assert isinstance(made, Place)
        try:
            yield made
        finally:
            for claim in (await made.client.list(RESOURCE_CLAIMS, namespace=made.name)).items:
                body = {"metadata": {"finalizers": None}}
                await made.client.patch(RESOURCE_CLAIMS, claim.metadata.name, body, namespace=made.name)


async def create_pair(place: Place, name: str, node: str) -> None:
    """Create two pods that share a claim, and the request that binds them."""
    claim = {"metadata": {"name": name}, "spec": claim_spec()}
    await place.client.create(RESOURCE_CLAIMS, claim, namespace=place.name)
    for number in range(2):
        await create_pod(place, f"{name}-{number}", name)
    given = {"resourceClaimAllocations": [{"name": name, "allocation": on(node, name)}]}
    await place.request(name, {f"{name}-{number}": node for number in range(2)}, given)


async def test_scheduler_chooses_devices_and_binder_allocates_them(place: Place) -> None:
    """Each member of a gang has a claim of its own, and the node has one device too few for the next gang."""
    async with device_processes(place):
        await offer_devices(place, 3)
        await create_claimants(place, "first", 2)
        await place.until_bound("first", 2)
        await create_claimants(place, "second", 2)
        await place.until_waiting("second")
        listing = await place.client.list(RESOURCE_CLAIMS, namespace=place.name)
        claims = {each.metadata.name: each for each in listing.items}
        given = {name: [each.device for each in devices_of(claim)] for name, claim in claims.items()}
        assert sorted(map(str, given["first-0"] + given["first-1"])) == ["gpu-0", "gpu-1"]
        assert [user.name for user in claims["first-0"].status.reserved_for or ()] == ["first-0"]
        assert given["second-0"] == given["second-1"] == []
        assert await place.bound("second") == 0


async def test_binder_creates_claims_for_extended_resources(place: Place) -> None:
    """A claim of an earlier attempt that has other requests is replaced."""
    async with device_processes(place):
        group = {"metadata": {"name": "retried"}, "spec": {"minMember": 1}}
        await place.client.create(POD_GROUPS, group, namespace=place.name)
        amounts = {f"{driver(place)}/gpu": "2"}
        container = {"name": "main", "image": "example/main", "resources": {"requests": amounts, "limits": amounts}}
        spec = {"containers": [container], "schedulerName": place.name, "terminationGracePeriodSeconds": 0}
        metadata = {"name": "retried-0", "annotations": {GROUP_NAME: "retried"}}
        pod = await place.client.create(PODS, {"metadata": metadata, "spec": spec}, namespace=place.name)
        await place.until_waiting("retried")
        claim = attempted_claim(pod, claim_spec(exactly(of=place.name)))
        await place.client.create(RESOURCE_CLAIMS, claim, namespace=place.name)
        await offer_devices(place, 2)
        await place.until_bound("retried", 1)
        found = await place.client.get(RESOURCE_CLAIMS, claim["metadata"]["name"], namespace=place.name)
        assert [each.device for each in devices_of(found)] == ["gpu-0", "gpu-1"]


def driver(place: Place) -> str:
    return f"{place.name}.example.com"


@contextlib.asynccontextmanager
async def device_processes(place: Place) -> AsyncIterator[None]:
    """A node, a class of devices, and processes that choose and allocate them."""
    await place.create_nodes(1, 30)
    spec = device_class(place.name, f'device.driver == "{driver(place)}"', extendedResourceName=f"{driver(place)}/gpu")
    await place.client.create(DEVICE_CLASSES, {"metadata": {"name": place.name}, "spec": spec["spec"]})
    try:
        place.start("--bind-mode=request", account=REQUESTER)
        place.bind()
        yield
    finally:
        await place.client.delete(RESOURCE_SLICES, place.name)
        await place.client.delete(DEVICE_CLASSES, place.name)


async def offer_devices(place: Place, number: int) -> None:
    node = (await place._nodes())[0].metadata.name
    spec = offer(node, number, driver=driver(place))["spec"]
    await place.client.create(RESOURCE_SLICES, {"metadata": {"name": place.name}, "spec": spec})


async def create_claimants(place: Place, name: str, size: int) -> None:
    group = {"metadata": {"name": name}, "spec": {"minMember": size}}
    await place.client.create(POD_GROUPS, group, namespace=place.name)
    for number in range(size):
        pod = f"{name}-{number}"
        claim = {"metadata": {"name": pod}, "spec": claim_spec(exactly(of=place.name))}
        await place.client.create(RESOURCE_CLAIMS, claim, namespace=place.name)
        await create_pod(place, pod, pod, {GROUP_NAME: name})


async def create_pod(place: Place, name: str, claim: str, annotations: dict[str, str] | None = None) -> None:
    container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": "1"}}}
    spec: dict[str, Any] = {"containers": [container], "schedulerName": place.name}
    spec |= {"resourceClaims": claiming(claim), "terminationGracePeriodSeconds": 0}
    metadata = {"name": name, "annotations": annotations or {}}
    await place.client.create(PODS, {"metadata": metadata, "spec": spec}, namespace=place.name)


def devices_of(claim: ResourceClaim) -> list[AllocatedDevice]:
    devices = claim.status.allocation.devices if claim.status.allocation else None
    return (devices.results if devices else None) or []


async def test_claims_have_devices_and_consumers_when_pods_are_bound(place: Place) -> None:
    await place.create_nodes(1, 30)
    node = (await place._nodes())[0].metadata.name
    for number, point in enumerate(f"{moment} {write}" for write in WRITES for moment in ("before", "after")):
        await create_pair(place, f"pair-{number}", node)
        dies(place.bind(dies_at=point))
    place.bind()
    found = await place.until_settled()
    assert {each.status.phase for each in found.values()} == {SUCCEEDED}, place.logs
    assert await place.bound() == 2 * len(found)
    for claim in (await place.client.list(RESOURCE_CLAIMS, namespace=place.name)).items:
        name = claim.metadata.name
        assert [each.device for each in devices_of(claim)] == [name]
        assert sorted(user.name or "" for user in claim.status.reserved_for or ()) == [f"{name}-0", f"{name}-1"]
        assert PROTECTION in (claim.metadata.finalizers or ())
