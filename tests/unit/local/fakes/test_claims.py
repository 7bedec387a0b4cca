"""Resource claims are created from templates, reserved and released."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from stromboli.kube.objects.claims import PROTECTION, ResourceClaim
from stromboli.kube.objects.pod import Pod
from stromboli.kube.watch.informer import Informer
from stromboli.local.fakes.storage.resource_claims import ClaimController
from tests.unit.local.fakes.running import running, until

DEVICES = {"devices": {"requests": [{"name": "card", "exactly": {"deviceClassName": "gpu"}}]}}
GIVEN = {"devices": {"results": [{"request": "card", "driver": "d", "pool": "p", "device": "gpu-0"}]}}


@pytest_asyncio.fixture
async def controller(client: Client) -> AsyncIterator[ClaimController]:
    pods = Informer(client, PODS)
    controller = ClaimController(client, pods)
    async with running(pods, controller):
        yield controller


async def create_template(client: Client) -> None:
    body = {"metadata": {"name": "gpu"}, "spec": {"metadata": {"labels": {"a": "b"}}, "spec": DEVICES}}
    await client.create(RESOURCE_CLAIM_TEMPLATES, body, namespace="default")


async def create_pod(client: Client, **claim: str) -> Pod:
    claims = [{"name": "card", **(claim or {"resourceClaimTemplateName": "gpu"})}]
    spec = {"containers": [{"name": "main", "image": "x"}], "resourceClaims": claims}
    return await client.create(PODS, {"metadata": {"name": "p"}, "spec": spec}, namespace="default")


async def named_claim(client: Client) -> ResourceClaim | None:
    """The claim that was created for the pod."""
    statuses = (await client.get(PODS, "p", namespace="default")).status.resource_claim_statuses
    if not statuses:
        return None
    return await client.get(RESOURCE_CLAIMS, statuses[0].resource_claim_name or "", namespace="default")


async def give(client: Client, claim: ResourceClaim, *users: Pod) -> None:
    """Allocate the claim, as a scheduler does."""
    reserved = [{"resource": "pods", "name": pod.metadata.name, "uid": pod.metadata.uid} for pod in users]
    name = claim.metadata.name
    await client.patch(RESOURCE_CLAIMS, name, {"metadata": {"finalizers": [PROTECTION]}}, namespace="default")
    status: dict[str, Any] = {"status": {"allocation": GIVEN, "reservedFor": reserved}}
    await client.patch(RESOURCE_CLAIMS, name, status, namespace="default", subresource="status")


async def phase(client: Client, name: str) -> None:
    await client.patch(PODS, "p", {"status": {"phase": name}}, namespace="default", subresource="status")


async def test_generated_claim_is_created_once_and_deleted_after_pod(
    client: Client, controller: ClaimController
) -> None:
    pod = await create_pod(client)
    await create_template(client)
    claim = await until(lambda: named_claim(client))
    assert claim.metadata.name.startswith("p-card-")
    assert claim.metadata.labels == {"a": "b"}
    assert claim.metadata.owner_references[0].uid == pod.metadata.uid
    assert claim.spec.devices.requests[0].exactly.device_class_name == "gpu"
    await give(client, claim, pod)
    await client.bind("default", "p", pod.metadata.uid, "n")
    await phase(client, "Succeeded")

    async def gone() -> bool:
        return not (await client.list(RESOURCE_CLAIMS)).items

    await until(gone)
    assert controller.created == 1


@pytest.mark.usefixtures("controller")
async def test_bound_pod_without_reservation_gets_one(client: Client) -> None:
    await create_template(client)
    pod = await create_pod(client)
    claim = await until(lambda: named_claim(client))
    await client.bind("default", "p", pod.metadata.uid, "n")
    await give(client, claim)

    async def reserved() -> bool:
        users = (await client.get(RESOURCE_CLAIMS, claim.metadata.name, namespace="default")).status.reserved_for
        return [user.uid for user in users or ()] == [pod.metadata.uid]

    await until(reserved)


@pytest.mark.usefixtures("controller")
async def test_existing_claim_is_deallocated_and_kept(client: Client) -> None:
    body = {"metadata": {"name": "mine"}, "spec": DEVICES}
    claim = await client.create(RESOURCE_CLAIMS, body, namespace="default")
    pod = await create_pod(client, resourceClaimName="mine")
    await give(client, claim, pod)
    await client.delete(PODS, "p", namespace="default", grace_period=0)

    async def given_back() -> bool:
        found = await client.get(RESOURCE_CLAIMS, "mine", namespace="default")
        return found.status.allocation is None and not found.status.reserved_for and not found.metadata.finalizers

    await until(given_back)


async def test_restart_creates_no_second_claim(client: Client) -> None:
    await create_template(client)
    await create_pod(client)
    for _ in range(2):
        pods = Informer(client, PODS)
        async with running(pods, ClaimController(client, pods)):
            await until(lambda: named_claim(client))
        await client.patch(
            PODS, "p", {"status": {"resourceClaimStatuses": None}}, namespace="default", subresource="status"
        )
    assert len((await client.list(RESOURCE_CLAIMS)).items) == 1
