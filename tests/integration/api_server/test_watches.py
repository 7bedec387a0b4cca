"""Watches: start, events and end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stromboli.local.api_server.server import ApiServer
from tests.integration.api_server.http_api import (
    CONFIG_MAPS,
    DEADLINE,
    MERGE,
    NODES,
    PODS,
    HttpApi,
    binding,
    connected,
    pod,
)


async def version_of(api: HttpApi) -> str:
    return str((await api.get(CONFIG_MAPS)).body["metadata"]["resourceVersion"])


async def test_watch_sends_every_change(api: HttpApi) -> None:
    async with api.watch(CONFIG_MAPS, resourceVersion=await version_of(api)) as events:
        await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}})
        await api.patch(f"{CONFIG_MAPS}/a", {"data": {"x": "1"}})
        await api.delete(f"{CONFIG_MAPS}/a")
        assert await events.take(3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_deletion_event_has_own_version(api: HttpApi) -> None:
    created = (await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}})).body["metadata"]
    async with api.watch(CONFIG_MAPS, resourceVersion=created["resourceVersion"]) as events:
        await api.delete(f"{CONFIG_MAPS}/a")
        event = await events.next()
    assert event is not None
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(created["resourceVersion"])


@pytest.mark.parametrize("version", ["", "0"])
async def test_watch_without_version_starts_with_existing_objects(api: HttpApi, version: str) -> None:
    for name in ("a", "b"):
        await api.post(CONFIG_MAPS, {"metadata": {"name": name}})
    async with api.watch(CONFIG_MAPS, resourceVersion=version) as events:
        assert await events.take(2) == [("ADDED", "a"), ("ADDED", "b")]
        await api.post(CONFIG_MAPS, {"metadata": {"name": "c"}})
        assert await events.take(1) == [("ADDED", "c")]


async def test_watch_from_version_sends_later_changes(api: HttpApi) -> None:
    version = await version_of(api)
    for name in ("a", "b"):
        await api.post(CONFIG_MAPS, {"metadata": {"name": name}})
    async with api.watch(CONFIG_MAPS, resourceVersion=version) as events:
        assert await events.take(2) == [("ADDED", "a"), ("ADDED", "b")]


async def test_streamed_list_ends_with_bookmark(api: HttpApi) -> None:
    await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}})
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    async with api.watch(CONFIG_MAPS, **query) as events:
        assert await events.take(1) == [("ADDED", "a")]
        mark = await events.next()
        await api.post(CONFIG_MAPS, {"metadata": {"name": "b"}})
        assert await events.take(1) == [("ADDED", "b")]
    assert mark is not None
    assert mark["type"] == "BOOKMARK"
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert (await api.get(CONFIG_MAPS, watch="true", sendInitialEvents="true")).status == 422


@pytest.mark.only("embedded", because="the real one sends them once a minute")
async def test_idle_watch_sends_bookmarks() -> None:
    async with (
        ApiServer(bookmark_interval=0.05) as server,
        connected(server) as api,
        api.watch(CONFIG_MAPS, allowWatchBookmarks="true") as events,
    ):
        event = await events.next()
        assert event is not None
        assert (event["type"], event["object"]["kind"]) == ("BOOKMARK", "ConfigMap")
        node = (await api.post(NODES, {"metadata": {"name": "n"}})).body
        while int(event["object"]["metadata"]["resourceVersion"]) < int(node["metadata"]["resourceVersion"]):
            event = await events.next()
            assert event is not None


async def test_watch_ends_at_timeout(api: HttpApi) -> None:
    async with api.watch(CONFIG_MAPS, timeoutSeconds="1") as events:
        assert await events.all() == []


@pytest.mark.only("embedded", because="the real server cannot compact at once")
async def test_watch_from_dropped_history_gets_expired(api: HttpApi) -> None:
    version = await version_of(api)
    await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}})
    api.server.compact()
    async with api.watch(CONFIG_MAPS, resourceVersion=version) as events:
        event = await events.next()
        assert event is not None
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert await events.next() is None
    async with api.watch(CONFIG_MAPS, resourceVersion=await version_of(api)) as events:
        await api.post(CONFIG_MAPS, {"metadata": {"name": "b"}})
        assert await events.take(1) == [("ADDED", "b")]


@pytest.mark.only("embedded", because="the real server cannot compact at once")
async def test_open_watch_survives_dropped_history(api: HttpApi) -> None:
    async with api.watch(CONFIG_MAPS) as events:
        await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}})
        assert await events.take(1) == [("ADDED", "a")]
        await api.post(NODES, {"metadata": {"name": "n"}})
        api.server.compact()
        await api.post(CONFIG_MAPS, {"metadata": {"name": "b"}})
        assert await events.take(1) == [("ADDED", "b")]


@pytest.mark.only("embedded", because="the real one waits in silence for the future to come")
async def test_watch_from_future_version_times_out(api: HttpApi) -> None:
    reply = await api.get(CONFIG_MAPS, watch="true", resourceVersion="999999")
    assert (reply.status, reply.reason) == (504, "Timeout")
    assert "Too large resource version" in reply.message


async def test_object_leaving_selection_is_deleted(api: HttpApi) -> None:
    query = {"fieldSelector": "spec.nodeName=n1", "resourceVersion": await version_of(api)}
    async with api.watch("/api/v1/pods", **query) as bound, api.watch(PODS, labelSelector="a=b") as labelled:
        await api.post(PODS, pod("p"))
        await api.post(PODS, pod("other"))
        await api.post(f"{PODS}/p/binding", binding("n1"))
        await api.patch(f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}, media=MERGE)
        await api.patch(f"{PODS}/p", {"metadata": {"labels": {"a": "c"}}}, media=MERGE)
        await api.delete(f"{PODS}/p", {"gracePeriodSeconds": 0})
        assert await bound.take(5) == [("ADDED", "p"), *[("MODIFIED", "p")] * 3, ("DELETED", "p")]
        assert await labelled.take(2) == [("ADDED", "p"), ("DELETED", "p")]


async def test_watch_of_namespace(api: HttpApi) -> None:
    async with api.watch(CONFIG_MAPS) as events:
        await api.post("/api/v1/namespaces/kube-system/configmaps", {"metadata": {"name": "elsewhere"}})
        await api.post(CONFIG_MAPS, {"metadata": {"name": "here"}})
        assert await events.take(1) == [("ADDED", "here")]


@pytest.mark.only("embedded", because="the real server cannot drop them on request")
async def test_dropped_watches_end(api: HttpApi) -> None:
    async with api.watch(CONFIG_MAPS) as events:
        await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}})
        assert await events.take(1) == [("ADDED", "a")]
        api.server.drop_watches()
        assert await events.is_cut()


@pytest.mark.only("embedded", because="the real server does not report open watches")
async def test_disconnected_watch_is_removed(api: HttpApi) -> None:
    async with api.watch(CONFIG_MAPS):
        assert api.server.open_watches == 1
    async with asyncio.timeout(DEADLINE):
        while api.server.open_watches:
            await asyncio.sleep(0.001)


async def test_watch_as_table(api: HttpApi) -> None:
    await api.post(PODS, pod())
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    table: dict[str, Any] = (await api.get(PODS, accept=accept)).body
    assert table["kind"] == "Table"
    assert [row["cells"][0] for row in table["rows"]] == ["p"]
    one = (await api.get(f"{PODS}/p", accept=accept)).body
    assert one["rows"][0]["cells"] == table["rows"][0]["cells"]


async def test_watch_of_metadata_only(api: HttpApi) -> None:
    await api.post(PODS, pod())
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    listing = (await api.get(PODS, accept=accept)).body
    assert listing["kind"] == "PartialObjectMetadataList"
    assert set(listing["items"][0]) == {"apiVersion", "kind", "metadata"}
