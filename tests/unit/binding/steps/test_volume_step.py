"""Claims are bound to volumes before the pod is bound, or restored."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from stromboli.binding.steps.step import StepFailed
from stromboli.binding.steps.volumes.plugin import VolumeStep
from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.volumes.volumes import VolumeChoice, VolumeOrder
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import CLAIMS, NODES, STORAGE_CLASSES, VOLUMES
from stromboli.kube.objects.storage import PersistentVolume, PersistentVolumeClaim
from stromboli.kube.watch.informer import Informer
from stromboli.kube.watch.reflector import Reflector
from stromboli.local.api_server.server import ApiServer
from stromboli.local.fakes.storage.volumes import VolumeController
from tests.testing.manifests.storage import claim, reached_by, storage_class, volume

HOST = "kubernetes.io/hostname"
#: Longer than any test, and short enough to wait for.
LONG, SHORT = 60.0, 0.2


def order(*choices: VolumeChoice, timeout: float = LONG, uid: str = "pod-1") -> Placement:
    return Placement(uid, "default", uid, "default/job", "a", volumes=VolumeOrder(choices, timeout))


STATIC, MADE = VolumeChoice("data", "v"), VolumeChoice("data")


@dataclass
class Environment:
    """An API server, the watched objects, and the step."""

    client: Client
    ingest: Ingest
    step: VolumeStep

    async def create(self, *documents: dict[str, Any]) -> None:
        resources = {"PersistentVolumeClaim": CLAIMS, "PersistentVolume": VOLUMES, "StorageClass": STORAGE_CLASSES}
        for document in documents:
            resource: Any = resources[document["kind"]]
            metadata = {key: value for key, value in document["metadata"].items() if key != "uid"}
            made = await self.client.create(resource, {**document, "metadata": metadata})
            if resource is not STORAGE_CLASSES:
                await self.until(lambda kind=resource.type, key=made.key: self.ingest.get(kind, key))

    async def claim(self) -> PersistentVolumeClaim:
        return await self.client.get(CLAIMS, "data", namespace="default")

    async def volume(self) -> PersistentVolume:
        return await self.client.get(VOLUMES, "v")

    async def until(self, reached: Any) -> None:
        async with asyncio.timeout(30):
            while not reached():
                await asyncio.sleep(0.01)

    async def until_selected(self, node: str = "a") -> None:
        async with asyncio.timeout(30):
            while (await self.claim()).selected_node != node:
                await asyncio.sleep(0.01)


@pytest_asyncio.fixture
async def environment() -> AsyncIterator[Environment]:
    ingest = Ingest(Cluster())
    async with ApiServer() as server, Client(server.connection) as client:
        await client.create(NODES, {"metadata": {"name": "a", "labels": {HOST: "a"}}})
        reflectors = [Reflector(client, each, ingest) for each in (CLAIMS, VOLUMES, NODES)]
        async with _running(*reflectors):
            await asyncio.gather(*(reflector.synced.wait() for reflector in reflectors))
            yield Environment(client, ingest, VolumeStep(client, ingest))


@contextlib.asynccontextmanager
async def _running(*parts: Any) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(part.run()) for part in parts]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def controller(environment: Environment) -> AsyncIterator[None]:
    """A fake volume controller and provisioner."""
    claims = Informer(environment.client, CLAIMS)
    async with _running(claims, VolumeController(environment.client, claims)):
        yield


async def test_existing_volume_is_bound(environment: Environment) -> None:
    await environment.create(storage_class(), claim(), volume("v", on="a"))
    async with controller(environment):
        await environment.step.prepare(order(STATIC))
    assert (await environment.claim()).spec.volume_name == "v"
    await environment.step.undo(order(STATIC))
    assert (await environment.claim()).is_bound


async def test_volume_is_provisioned(environment: Environment) -> None:
    await environment.create(storage_class("made", "disks.example.com"), claim(of="made"))
    async with controller(environment):
        await environment.step.prepare(order(MADE))
        found = await environment.claim()
        assert (found.is_bound, found.selected_node) == (True, "a")
        await environment.step.undo(order(MADE))
    assert (await environment.claim()).selected_node == "a"


async def test_prepare_is_idempotent(environment: Environment) -> None:
    await environment.create(storage_class(), claim(), volume("v", on="a"))
    async with controller(environment):
        await environment.step.prepare(order(STATIC))
        before = await environment.volume()
        await environment.step.prepare(order(STATIC))
    assert (await environment.volume()).metadata.resource_version == before.metadata.resource_version


async def test_volume_not_provisioned_in_time_fails_the_step(environment: Environment) -> None:
    await environment.create(storage_class("made", "disks.example.com"), claim(of="made"))
    late = order(MADE, timeout=SHORT)
    with pytest.raises(StepFailed, match=r"not ready after 0.2 seconds: the volume of claim \S+ is being provisioned"):
        await environment.step.prepare(late)
    assert (await environment.claim()).selected_node == "a"
    await environment.step.undo(late)
    assert (await environment.claim()).selected_node == ""


async def test_claim_not_bound_in_time_fails_the_step(environment: Environment) -> None:
    await environment.create(storage_class(), claim(), volume("v", on="a"))
    late = order(STATIC, timeout=SHORT)
    with pytest.raises(StepFailed, match="claim default/data is not bound to volume v yet"):
        await environment.step.prepare(late)
    promised = (await environment.volume()).spec.claim_ref
    assert promised is not None
    assert promised.uid == (await environment.claim()).metadata.uid
    await environment.step.undo(late)
    found = await environment.volume()
    assert found.spec.claim_ref is None
    assert not found.metadata.annotations


async def test_volume_pre_bound_by_name_stays_pre_bound_by_name(environment: Environment) -> None:
    await environment.create(storage_class(), claim(), volume("v", on="a", of_claim="data", phase="Available"))
    late = order(STATIC, timeout=SHORT)
    with pytest.raises(StepFailed, match="claim default/data is not bound to volume v yet"):
        await environment.step.prepare(late)
    held = (await environment.volume()).spec.claim_ref
    assert held is not None
    assert held.uid == (await environment.claim()).metadata.uid
    await environment.step.undo(late)
    left = (await environment.volume()).spec.claim_ref
    assert left is not None
    assert (left.name, left.uid) == ("data", None)


async def test_provisioner_that_rejects_the_node_fails_the_step(environment: Environment) -> None:
    await environment.create(storage_class("made", "disks.example.com"), claim(of="made"))
    waits = asyncio.ensure_future(environment.step.prepare(order(MADE)))
    await environment.until_selected()
    note = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": None}}}
    await environment.client.patch(CLAIMS, "data", note, namespace="default")
    with pytest.raises(StepFailed, match="no volume can be provisioned for claim default/data on node a"):
        await waits


async def test_deleted_pod_ends_the_wait(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stromboli.binding.steps.volumes.plugin.CHECK_INTERVAL", 0.0)
    await environment.create(storage_class("made", "disks.example.com"), claim(of="made"))
    step = VolumeStep(environment.client, environment.ingest, lambda order: "the pod is gone")
    with pytest.raises(StepFailed, match="the pod is gone"):
        await step.prepare(order(MADE))


async def test_deleted_claim_ends_the_wait(environment: Environment) -> None:
    await environment.create(storage_class("made", "disks.example.com"), claim(of="made"))
    waits = asyncio.ensure_future(environment.step.prepare(order(MADE)))
    await environment.until_selected()
    await environment.client.delete(CLAIMS, "data", namespace="default")
    with pytest.raises(StepFailed, match=r"claim default/data is (gone|being deleted)"):
        await waits


async def test_missing_claim_or_volume_fails_the_step(environment: Environment) -> None:
    with pytest.raises(StepFailed, match="claim default/data is gone"):
        await environment.step.prepare(order(STATIC))
    await environment.create(storage_class(), claim())
    with pytest.raises(StepFailed, match="PersistentVolume v is gone"):
        await environment.step.prepare(order(STATIC))


async def test_volume_promised_to_another_claim_fails_the_step(environment: Environment) -> None:
    await environment.create(storage_class(), claim(), volume("v", on="a", of_claim="other"))
    with pytest.raises(StepFailed, match="volume v is reserved for claim default/other"):
        await environment.step.prepare(order(STATIC))
    await environment.step.undo(order(STATIC))
    promised = (await environment.volume()).spec.claim_ref
    assert promised is not None
    assert promised.name == "other"


async def test_claim_selected_for_another_node_fails_the_step(environment: Environment) -> None:
    await environment.client.create(NODES, {"metadata": {"name": "b"}})
    await environment.until(lambda: environment.ingest.get(NODES.type, "b"))
    await environment.create(storage_class("made", "disks.example.com"), claim(of="made", on="b"))
    with pytest.raises(StepFailed, match="claim default/data is being provisioned for node b"):
        await environment.step.prepare(order(MADE))
    await environment.step.undo(order(MADE))
    assert (await environment.claim()).selected_node == "b"


async def test_claim_selected_for_a_deleted_node_is_selected_again(environment: Environment) -> None:
    await environment.create(storage_class("made", "disks.example.com"), claim(of="made", on="gone"))
    waits = asyncio.ensure_future(environment.step.prepare(order(MADE)))
    await environment.until_selected()
    async with controller(environment):
        await waits
    assert (await environment.claim()).selected_node == "a"


async def test_volume_unreachable_from_the_node_fails_the_step(environment: Environment) -> None:
    await environment.create(
        storage_class(), volume("v", of_claim="data", nodeAffinity=reached_by(HOST, "b")), claim(of="local")
    )
    async with controller(environment):
        await environment.until(lambda: getattr(environment.ingest.get(CLAIMS.type, "default/data"), "is_bound", False))
    with pytest.raises(StepFailed, match="volume v of claim default/data is not accessible from node a"):
        await environment.step.prepare(order(STATIC))


async def test_rollback_keeps_a_claim_that_another_pod_prepares(environment: Environment) -> None:
    await environment.create(storage_class("made", "disks.example.com"), claim(of="made"))
    first, second = order(MADE, timeout=SHORT), order(MADE, uid="pod-2")
    waits = asyncio.ensure_future(environment.step.prepare(second))
    await environment.until_selected()
    with pytest.raises(StepFailed):
        await environment.step.prepare(first)
    await environment.step.undo(first)
    assert (await environment.claim()).selected_node == "a"
    async with controller(environment):
        await waits
    environment.step.forget(second)
    assert (await environment.claim()).is_bound
