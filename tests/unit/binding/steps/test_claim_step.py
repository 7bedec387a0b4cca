"""Claims are allocated and reserved before the pod is bound, or restored."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import pytest_asyncio

from stromboli.binding.steps.claims import ClaimStep, ClaimWrite
from stromboli.binding.steps.step import StepFailed
from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import NODES, RESOURCE_CLAIMS
from stromboli.kube.objects.claims import PROTECTION, ResourceClaim
from stromboli.kube.watch.reflector import Reflector
from stromboli.local.api_server.server import ApiServer
from tests.testing.manifests.resource_claims import DRIVER, claim_spec

DEVICE = {"request": "r", "driver": DRIVER, "pool": "a", "device": "gpu-0"}


def on(node: str, device: str = "gpu-0") -> dict[str, Any]:
    """The allocation of a device of a node."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    selector = {"nodeSelectorTerms": [{"matchFields": fields}]}
    return {"devices": {"results": [{**DEVICE, "pool": node, "device": device}]}, "nodeSelector": selector}


FRESH = ClaimWrite("default/mine", on("a"))
REUSED = replace(FRESH, allocation=None)


def placed(uid: str = "pod-1", node: str = "a") -> Placement:
    return Placement(uid, "default", uid, "default/job", node)


@dataclass
class Environment:
    """An API server, the watched objects, and the step."""

    client: Client
    ingest: Ingest
    step: ClaimStep

    async def create(self, name: str = "mine", **status: Any) -> None:
        body = {"metadata": {"name": name}, "spec": claim_spec()}
        made = await self.client.create(RESOURCE_CLAIMS, body, namespace="default")
        if status:
            await self.write(name, status)
        await self.until_seen(made.key)

    async def write(self, name: str, status: dict[str, Any]) -> ResourceClaim:
        """Write the status as another client."""
        return await self.client.patch(
            RESOURCE_CLAIMS, name, {"status": status}, namespace="default", subresource="status"
        )

    async def until_seen(self, key: str) -> None:
        async with asyncio.timeout(30):
            while self.ingest.get(ResourceClaim, key) is None:
                await asyncio.sleep(0.01)

    async def claim(self, name: str = "mine") -> ResourceClaim:
        return await self.client.get(RESOURCE_CLAIMS, name, namespace="default")

    async def state(self, name: str = "mine") -> tuple[str, list[str], bool]:
        """Return the devices of a claim, the pods it is reserved for, and whether it has the finalizer."""
        claim = await self.claim(name)
        devices = claim.status.allocation.devices if claim.status.allocation else None
        given = [f"{each.pool}/{each.device}" for each in (devices.results if devices else None) or ()]
        users = sorted(user.name or "" for user in claim.status.reserved_for or ())
        return ",".join(given), users, PROTECTION in (claim.metadata.finalizers or ())


@pytest_asyncio.fixture
async def environment() -> AsyncIterator[Environment]:
    ingest = Ingest(Cluster())
    async with ApiServer() as server, Client(server.connection) as client:
        for name in "ab":
            await client.create(NODES, {"metadata": {"name": name}})
        reflectors: list[Any] = [Reflector(client, each, ingest) for each in (RESOURCE_CLAIMS, NODES)]
        tasks = [asyncio.ensure_future(reflector.run()) for reflector in reflectors]
        try:
            await asyncio.gather(*(reflector.synced.wait() for reflector in reflectors))
            yield Environment(client, ingest, ClaimStep(client, ingest))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


NOTHING: tuple[str, list[str], bool] = ("", [], False)


async def test_claim_gets_device_and_consumer_and_rollback_removes_both(environment: Environment) -> None:
    await environment.create()
    await environment.step.prepare(placed(), [FRESH])
    assert await environment.state() == ("a/gpu-0", ["pod-1"], True)
    await environment.step.undo(placed(), [FRESH])
    assert await environment.state() == NOTHING


async def test_prepare_and_undo_are_idempotent(environment: Environment) -> None:
    await environment.create()
    await environment.step.prepare(placed(), [FRESH])
    version = (await environment.claim()).metadata.resource_version
    await environment.step.prepare(placed(), [FRESH])
    assert (await environment.claim()).metadata.resource_version == version
    await environment.step.undo(placed(), [FRESH])
    version = (await environment.claim()).metadata.resource_version
    await environment.step.undo(placed(), [FRESH])
    assert (await environment.claim()).metadata.resource_version == version


async def test_pods_that_share_a_claim_are_all_reserved_concurrently(environment: Environment) -> None:
    await environment.create()
    names = [f"pod-{number}" for number in range(5)]
    await asyncio.gather(*(environment.step.prepare(placed(name), [FRESH]) for name in names))
    assert await environment.state() == ("a/gpu-0", names, True)
    await environment.step.undo(placed("pod-0"), [FRESH])
    assert await environment.state() == ("a/gpu-0", names[1:], True)
    for name in names[1:]:
        await environment.step.undo(placed(name), [FRESH])
    assert await environment.state() == NOTHING


async def test_allocated_claim_keeps_its_device(environment: Environment) -> None:
    await environment.create(allocation=on("a"))
    await environment.step.prepare(placed(), [REUSED])
    assert await environment.state() == ("a/gpu-0", ["pod-1"], False)
    await environment.step.undo(placed(), [REUSED])
    assert await environment.state() == ("a/gpu-0", [], False)


async def test_write_conflict_is_retried(environment: Environment) -> None:
    await environment.create()
    await environment.write("mine", {"allocation": on("b", "gpu-7")})
    with pytest.raises(StepFailed, match="has devices that cannot be used from node a"):
        await environment.step.prepare(placed(), [FRESH])
    await environment.step.undo(placed(), [FRESH])
    assert (await environment.state())[0] == "b/gpu-7"


async def test_claim_allocated_by_another_writer_on_the_same_node_is_used(environment: Environment) -> None:
    await environment.create()
    await environment.write("mine", {"allocation": on("a", "gpu-7")})
    await environment.step.prepare(placed(), [FRESH])
    assert await environment.state() == ("a/gpu-7", ["pod-1"], False)
    await environment.step.undo(placed(), [FRESH])
    assert (await environment.state())[0] == "a/gpu-7"


async def test_failure_of_the_second_claim_restores_the_first(environment: Environment) -> None:
    await environment.create()
    both = [FRESH, ClaimWrite("default/other", on("a", "gpu-1"))]
    with pytest.raises(StepFailed, match="resourceclaim default/other is gone"):
        await environment.step.prepare(placed(), both)
    assert (await environment.state())[0] == "a/gpu-0"
    await environment.step.undo(placed(), both)
    assert await environment.state() == NOTHING


CROWD = [{"resource": "pods", "name": name, "uid": name} for name in map(str, range(256))]
FAILURES: dict[str, tuple[dict[str, Any], ClaimWrite]] = {
    "has lost its allocation": ({}, REUSED),
    "is reserved for 256 pods, the maximum": ({"allocation": on("a"), "reservedFor": CROWD}, REUSED),
}


@pytest.mark.parametrize("message", FAILURES)
async def test_unusable_claim_fails_the_step(environment: Environment, message: str) -> None:
    status, write = FAILURES[message]
    await environment.create(**status)
    with pytest.raises(StepFailed, match=message):
        await environment.step.prepare(placed(), [write])


async def test_terminating_claim_fails_the_step(environment: Environment) -> None:
    await environment.create()
    await environment.step.prepare(placed("other"), [FRESH])
    await environment.client.delete(RESOURCE_CLAIMS, "mine", namespace="default")
    async with asyncio.timeout(30):
        while (
            claim := environment.ingest.get(ResourceClaim, "default/mine")
        ) and not claim.metadata.deletion_timestamp:
            await asyncio.sleep(0.01)
    with pytest.raises(StepFailed, match="is being deleted"):
        await environment.step.prepare(placed(), [FRESH])
    with contextlib.suppress(StepFailed):
        await environment.step.undo(placed("other"), [FRESH])
