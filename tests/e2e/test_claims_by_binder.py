"""A binder gives claims the devices that requests name; wherever it dies, the next one goes on with what it finds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stromboli.kube.objects.bind_requests import SUCCEEDED
from stromboli.kube.objects.catalogue import PODS, RESOURCE_CLAIMS
from stromboli.kube.objects.claims import PROTECTION
from testbed.plane import ControlPlane
from tests.binder.test_claim_step import on
from tests.binder.test_claims_carried_out import WRITES
from tests.e2e.processes import ground
from tests.e2e.test_binder_crashes import Place, dies
from tests.scenarios.claimed import claiming, wanting


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
    """Two pods that share a claim, and the request that binds them to a node."""
    claim = {"metadata": {"name": name}, "spec": wanting()}
    await place.client.create(RESOURCE_CLAIMS, claim, namespace=place.name)
    for number in range(2):
        container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": "1"}}}
        spec: dict[str, Any] = {
            "containers": [container],
            "schedulerName": place.name,
            "resourceClaims": claiming(name),
        }
        spec["terminationGracePeriodSeconds"] = 0
        await place.client.create(PODS, {"metadata": {"name": f"{name}-{number}"}, "spec": spec}, namespace=place.name)
    given = {"resourceClaimAllocations": [{"name": name, "allocation": on(node, name)}]}
    await place.request(name, {f"{name}-{number}": node for number in range(2)}, given)


async def test_claims_have_their_devices_and_users_when_the_pods_are_bound(place: Place) -> None:
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
        name, devices = claim.metadata.name, claim.status.allocation and claim.status.allocation.devices
        assert [each.device for each in (devices and devices.results) or ()] == [name]
        assert sorted(user.name or "" for user in claim.status.reserved_for or ()) == [f"{name}-0", f"{name}-1"]
        assert PROTECTION in (claim.metadata.finalizers or ())
