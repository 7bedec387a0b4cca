"""Objects without owner are deleted; objects with an owner are kept."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio

from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import CONFIG_MAPS, CRDS, POD_GROUPS
from stromboli.kube.objects.cluster import ConfigMap
from stromboli.local.fakes.garbage_collector import GarbageCollector
from tests.unit.local.fakes.running import running, until


@pytest_asyncio.fixture
async def collector(client: Client) -> AsyncIterator[GarbageCollector]:
    collector = GarbageCollector(client)
    async with running(collector):
        yield collector


def owned_by(*owners: ConfigMap, blocking: bool = False) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner.metadata.name,
            "uid": owner.metadata.uid,
            "blockOwnerDeletion": blocking,
        }
        for owner in owners
    ]


async def create(client: Client, name: str, *owners: ConfigMap, **metadata: Any) -> ConfigMap:
    blocking = metadata.pop("blocking", False)
    body = {"metadata": {"name": name, "ownerReferences": owned_by(*owners, blocking=blocking), **metadata}}
    return await client.create(CONFIG_MAPS, body, namespace="default")


async def delete(client: Client, name: str, propagation: str = "Background") -> None:
    await client.delete(CONFIG_MAPS, name, namespace="default", propagation=propagation)


def left(client: Client, *names: str) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        found = (await client.list(CONFIG_MAPS, namespace="default")).items
        return sorted(entry.metadata.name for entry in found) == sorted(names)

    return look


@pytest.mark.usefixtures("collector")
async def test_dependents_are_deleted_recursively(client: Client) -> None:
    top = await create(client, "top")
    middle = await create(client, "middle", top)
    await create(client, "bottom", middle)
    await create(client, "stranger")
    await delete(client, "top")
    await until(left(client, "stranger"))


@pytest.mark.usefixtures("collector")
async def test_object_with_remaining_owner_is_kept(client: Client) -> None:
    first, second = await create(client, "first"), await create(client, "second")
    await create(client, "child", first, second)
    await delete(client, "first")

    async def disowned() -> bool:
        child = await client.get(CONFIG_MAPS, "child", namespace="default")
        return [owner.name for owner in child.metadata.owner_references or ()] == ["second"]

    await until(disowned)
    await delete(client, "second")
    await until(left(client))


@pytest.mark.usefixtures("collector")
async def test_foreground_deletion_removes_owner_last(client: Client) -> None:
    top = await create(client, "top")
    child = await create(client, "child", top, blocking=True, finalizers=["example.com/wait"])
    await create(client, "grandchild", child, blocking=True)
    await delete(client, "top", "Foreground")
    await until(left(client, "child", "top"))
    await client.patch(CONFIG_MAPS, "child", {"metadata": {"finalizers": None}}, namespace="default")
    await until(left(client))


@pytest.mark.usefixtures("collector")
async def test_orphaned_dependents_are_kept(client: Client) -> None:
    top = await create(client, "top")
    await create(client, "child", top)
    await delete(client, "top", "Orphan")
    await until(left(client, "child"))
    child = await client.get(CONFIG_MAPS, "child", namespace="default")
    assert not child.metadata.owner_references


@pytest.mark.usefixtures("collector")
async def test_owner_with_other_uid_does_not_count(client: Client) -> None:
    owner = await create(client, "owner")
    await delete(client, "owner")
    await create(client, "owner")
    await create(client, "child", owner)
    await until(left(client, "owner"))


async def test_garbage_from_before_start_is_collected(client: Client) -> None:
    owner = await create(client, "owner")
    await create(client, "child", owner)
    await delete(client, "owner")
    async with running(GarbageCollector(client)):
        await until(left(client))


async def test_kinds_defined_later_are_watched(client: Client, collector: GarbageCollector) -> None:
    await install_crds(client)
    owner = await create(client, "owner")
    body = {"metadata": {"name": "group", "ownerReferences": owned_by(owner)}, "spec": {}}
    await client.create(POD_GROUPS, body, namespace="default")
    await delete(client, "owner")

    async def gone() -> bool:
        return not (await client.list(POD_GROUPS)).items

    await until(gone)
    assert collector.collected == 1


async def test_kinds_that_are_no_longer_served_are_dropped(
    client: Client, collector: GarbageCollector, caplog: pytest.LogCaptureFixture
) -> None:
    await install_crds(client)
    await client.create(POD_GROUPS, {"metadata": {"name": "group"}, "spec": {}}, namespace="default")
    kind = ("scheduling.volcano.sh", "PodGroup")

    def is_followed(expected: bool) -> Callable[[], Awaitable[bool]]:
        async def reached() -> bool:
            return bool(collector.ownership.of_kind(*kind)) is expected

        return reached

    await until(is_followed(True))
    await client.delete(CRDS, POD_GROUPS.name)
    await until(is_followed(False))
    assert not caplog.records


@pytest.mark.usefixtures("collector")
async def test_owner_of_unknown_kind_counts_as_existing(client: Client) -> None:
    stranger = {"apiVersion": "example.com/v1", "kind": "Stranger", "name": "s", "uid": "u"}
    body = {"metadata": {"name": "child", "ownerReferences": [stranger]}}
    await client.create(CONFIG_MAPS, body, namespace="default")
    owner = await create(client, "owner")
    await create(client, "other", owner)
    await delete(client, "owner")
    await until(left(client, "child"))
