"""Volumes: selection as a table, binding and provisioning over HTTP."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
import pytest
import pytest_asyncio

from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import CLAIMS, PODS, STORAGE_CLASSES, VOLUMES
from stromboli.kube.objects.storage import (
    DEFAULT_CLASS,
    SELECTED_NODE,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from stromboli.kube.watch.informer import Informer
from stromboli.local.fakes.storage.ephemeral_volumes import EphemeralVolumes
from stromboli.local.fakes.storage.storage_protection import CLAIM_PROTECTION, VOLUME_PROTECTION, StorageProtection
from stromboli.local.fakes.storage.volume_matching import choose, may_provision, provisioned
from stromboli.local.fakes.storage.volumes import VolumeController
from tests.unit.local.fakes.running import running, until

WRITE_ONCE = ["ReadWriteOnce"]


def claim(annotations: dict[str, str] | None = None, **spec: Any) -> PersistentVolumeClaim:
    metadata = {"name": "data", "namespace": "default", "uid": "u1", "annotations": annotations}
    wanted = {"accessModes": WRITE_ONCE, "resources": {"requests": {"storage": "2Gi"}}, **spec}
    return msgspec.convert({"metadata": metadata, "spec": wanted}, PersistentVolumeClaim)


def volume(name: str, size: str = "4Gi", phase: str = "Available", **spec: Any) -> PersistentVolume:
    offered = {"accessModes": WRITE_ONCE, "capacity": {"storage": size}, **spec}
    labels = {"name": name}
    return msgspec.convert(
        {"metadata": {"name": name, "labels": labels}, "spec": offered, "status": {"phase": phase}}, PersistentVolume
    )


def reserved(name: str = "data", uid: str | None = None) -> dict[str, Any]:
    return {"claimRef": {"namespace": "default", "name": name, "uid": uid}}


class Case(NamedTuple):
    title: str
    claim: PersistentVolumeClaim
    volumes: list[PersistentVolume]
    chosen: str | None
    delayed: bool = False


CASES = [
    Case("the smallest that will do", claim(), [volume("a", "8Gi"), volume("b", "2Gi"), volume("c", "1Gi")], "b"),
    Case("no volume is large enough", claim(), [volume("a", "1Gi")], None),
    Case("another class", claim(storageClassName="fast"), [volume("a")], None),
    Case("its class", claim(storageClassName="fast"), [volume("a"), volume("b", storageClassName="fast")], "b"),
    Case("another way of access", claim(accessModes=["ReadWriteMany"]), [volume("a")], None),
    Case("blocks are no files", claim(volumeMode="Block"), [volume("a")], None),
    Case("by label", claim(selector={"matchLabels": {"name": "b"}}), [volume("a", "2Gi"), volume("b")], "b"),
    Case("by name", claim(volumeName="b"), [volume("a"), volume("b", "1Gi")], "b"),
    Case("reserved for another claim", claim(), [volume("a", **reserved("other"))], None),
    Case("promised by name", claim(), [volume("a"), volume("b", "9Gi", **reserved())], "b"),
    Case("promised to a namesake", claim(), [volume("a", **reserved(uid="u0"))], None),
    Case("given back, not yet cleaned", claim(), [volume("a", phase="Released")], None),
    Case("delayed: not yet", claim(), [volume("a")], None, delayed=True),
    Case("delayed: the scheduler has promised it", claim(), [volume("a", **reserved(uid="u1"))], "a", delayed=True),
]


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_volume_selection(case: Case) -> None:
    chosen = choose(case.claim, case.volumes, delayed=case.delayed)
    assert (chosen.metadata.name if chosen else None) == case.chosen


def storage_class(provisioner: str = "disks.example.com", mode: str = "Immediate") -> StorageClass:
    return msgspec.convert(
        {"metadata": {"name": "fast"}, "provisioner": provisioner, "volumeBindingMode": mode}, StorageClass
    )


ON_A_NODE = {SELECTED_NODE: "n1"}
PROVISIONING = [
    ("no class", claim(), None, False),
    ("at once", claim(), storage_class(), True),
    ("no provisioner", claim(), storage_class("kubernetes.io/no-provisioner"), False),
    ("delayed: not yet", claim(), storage_class(mode="WaitForFirstConsumer"), False),
    ("delayed: now", claim(ON_A_NODE), storage_class(mode="WaitForFirstConsumer"), True),
    ("named volume", claim(volumeName="a"), storage_class(), False),
]


@pytest.mark.parametrize(("one", "of", "expected"), [c[1:] for c in PROVISIONING], ids=[c[0] for c in PROVISIONING])
def test_provisioning(one: PersistentVolumeClaim, of: StorageClass | None, expected: bool) -> None:
    assert may_provision(one, of) is expected


def test_volume_is_provisioned_on_selected_node() -> None:
    made = provisioned(claim(ON_A_NODE), storage_class(mode="WaitForFirstConsumer"))
    term = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]
    assert term["matchExpressions"] == [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]
    assert "nodeAffinity" not in provisioned(claim(ON_A_NODE), storage_class())["spec"]


@pytest_asyncio.fixture
async def controller(client: Client) -> AsyncIterator[VolumeController]:
    claims, pods = Informer(client, CLAIMS), Informer(client, PODS)
    controller, ephemeral = VolumeController(client, claims), EphemeralVolumes(client, pods, claims)
    protection = StorageProtection(client, pods, claims, controller.volumes)
    async with running(claims, pods, controller, ephemeral, protection):
        yield controller


async def create_class(client: Client, mode: str = "Immediate", **annotations: str) -> None:
    body = {"metadata": {"name": "fast", "annotations": annotations}, "provisioner": "disks.example.com"}
    await client.create(STORAGE_CLASSES, {**body, "volumeBindingMode": mode, "reclaimPolicy": "Delete"})


CLAIM_SPEC: dict[str, Any] = {"accessModes": WRITE_ONCE, "resources": {"requests": {"storage": "1Gi"}}}


async def create_claim(client: Client, name: str = "data", **spec: Any) -> None:
    await client.create(CLAIMS, {"metadata": {"name": name}, "spec": {**CLAIM_SPEC, **spec}}, namespace="default")


def is_bound(client: Client, name: str = "data") -> Callable[[], Awaitable[PersistentVolumeClaim | None]]:
    async def look() -> PersistentVolumeClaim | None:
        found = (await client.list(CLAIMS, namespace="default")).items
        return next((one for one in found if one.metadata.name == name and one.status.phase == "Bound"), None)

    return look


def volumes_are(client: Client, *phases: str) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return sorted(one.status.phase or "" for one in (await client.list(VOLUMES)).items) == sorted(phases)

    return look


async def create_volume(client: Client, name: str) -> None:
    spec = {"accessModes": WRITE_ONCE, "capacity": {"storage": "5Gi"}, "hostPath": {"path": "/x"}}
    await client.create(VOLUMES, {"metadata": {"name": name}, "spec": spec})


@pytest.mark.usefixtures("controller")
async def test_existing_volume_is_bound_and_released(client: Client) -> None:
    await create_volume(client, "a")
    await until(volumes_are(client, "Available"))
    await create_claim(client, storageClassName="")
    bound = await until(is_bound(client))
    assert (bound.spec.volume_name, bound.status.capacity) == ("a", {"storage": "5Gi"})
    await until(volumes_are(client, "Bound"))
    await client.delete(CLAIMS, "data", namespace="default")
    await until(volumes_are(client, "Released"))


@pytest.mark.usefixtures("controller")
async def test_storage_in_use_is_protected(client: Client) -> None:
    await create_volume(client, "a")
    await create_claim(client, storageClassName="")
    bound = await until(is_bound(client))
    await until(volumes_are(client, "Bound"))
    assert bound.metadata.finalizers == [CLAIM_PROTECTION]
    assert (await client.get(VOLUMES, "a")).metadata.finalizers == [VOLUME_PROTECTION]
    await create_user(client, "running", node="n1")
    await create_user(client, "waiting")
    await client.delete(VOLUMES, "a")
    await client.delete(CLAIMS, "data", namespace="default")
    await create_volume(client, "b")
    await until(volumes_are(client, "Available", "Bound"))
    await client.delete(PODS, "running", namespace="default", grace_period=0)
    await until(volumes_are(client, "Available"))
    assert not (await client.list(CLAIMS)).items


async def create_user(client: Client, name: str, node: str | None = None) -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    spec = {"containers": [{"name": "main", "image": "x"}], "volumes": volumes, "nodeName": node}
    await client.create(PODS, {"metadata": {"name": name}, "spec": spec}, namespace="default")


@pytest.mark.usefixtures("controller")
async def test_two_claims_get_distinct_volumes(client: Client) -> None:
    await create_volume(client, "a")
    for name in ("one", "two"):
        await create_claim(client, name, storageClassName="")
    await until(volumes_are(client, "Bound"))
    await create_volume(client, "b")
    first, second = await until(is_bound(client, "one")), await until(is_bound(client, "two"))
    assert {first.spec.volume_name, second.spec.volume_name} == {"a", "b"}


@pytest.mark.usefixtures("controller")
async def test_default_class_volume_is_deleted_with_claim(client: Client) -> None:
    await create_claim(client)
    await create_class(client, **{DEFAULT_CLASS: "true"})
    bound = await until(is_bound(client))
    assert bound.spec.storage_class_name == "fast"
    await until(volumes_are(client, "Bound"))
    await client.delete(CLAIMS, "data", namespace="default")
    await until(volumes_are(client))


async def test_delayed_claim_waits_for_node(client: Client, controller: VolumeController) -> None:
    await create_class(client, "WaitForFirstConsumer")
    await create_claim(client, storageClassName="fast")
    await create_claim(client, "other", storageClassName="")
    await create_volume(client, "a")
    await until(is_bound(client, "other"))
    assert controller.provisioned == 0
    await client.patch(CLAIMS, "data", {"metadata": {"annotations": ON_A_NODE}}, namespace="default")
    await until(is_bound(client))
    assert controller.provisioned == 1


@pytest.mark.usefixtures("controller")
async def test_ephemeral_volume(client: Client) -> None:
    await create_class(client)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {**CLAIM_SPEC, "storageClassName": "fast"}}
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    spec = {"containers": [{"name": "main", "image": "x"}], "volumes": volumes}
    pod = await client.create(PODS, {"metadata": {"name": "p"}, "spec": spec}, namespace="default")
    bound = await until(is_bound(client, "p-scratch"))
    assert bound.metadata.labels == {"a": "b"}
    assert bound.metadata.owner_references[0].uid == pod.metadata.uid
