"""Events in their two groups."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.local.kinds import plain_kinds
from tests.integration.api_server.http_api import HttpApi

CORE = "/api/v1/namespaces/default/events"
NEWER = "/apis/events.k8s.io/v1/namespaces/default/events"
POD = {"kind": "Pod", "namespace": "default", "name": "p", "uid": "u"}
EVENT: dict[str, Any] = {
    "metadata": {"name": "e"},
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingController": "volcano",
    "reportingInstance": "volcano-0",
    "action": "Binding",
    "reason": "Scheduled",
    "type": "Normal",
    "regarding": POD,
    "note": "Successfully assigned default/p to n1",
}


async def test_new_event_in_core_group(api: HttpApi) -> None:
    event = {**EVENT, "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}}
    created = (await api.post(NEWER, event)).body
    assert (created["apiVersion"], created["note"], created["regarding"]) == ("events.k8s.io/v1", event["note"], POD)
    old = (await api.get(f"{CORE}/e")).body
    assert (old["apiVersion"], old["message"], old["involvedObject"]) == ("v1", event["note"], POD)
    assert (old["reportingComponent"], old["series"]["count"]) == ("volcano", 2)
    assert "note" not in old
    assert old["metadata"] == created["metadata"]


async def test_core_event_in_new_group(api: HttpApi) -> None:
    event: dict[str, Any] = {
        "metadata": {"name": "e"},
        "involvedObject": POD,
        "reason": "FailedScheduling",
        "message": "0/5 nodes are available",
        "source": {"component": "volcano"},
        "count": 3,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-02T00:00:00Z",
    }
    await api.post(CORE, event)
    new = (await api.get(f"{NEWER}/e")).body
    assert (new["note"], new["deprecatedCount"], new["deprecatedSource"]) == (event["message"], 3, event["source"])
    assert new["deprecatedLastTimestamp"] == event["lastTimestamp"]
    patched = await api.patch(f"{NEWER}/e", {"series": {"count": 4, "lastObservedTime": "2026-01-03T00:00:00.000000Z"}})
    assert patched.status == 200
    assert (await api.get(f"{CORE}/e")).body["series"]["count"] == 4


async def test_both_groups_watch_the_same_events(api: HttpApi) -> None:
    async with api.watch(CORE) as old, api.watch(NEWER) as new:
        assert (await api.post(NEWER, {**EVENT, "note": "x"})).status == 201
        first, second = await old.next(), await new.next()
    assert first is not None
    assert second is not None
    assert (first["object"]["message"], second["object"]["note"]) == ("x", "x")
    assert (await api.get(NEWER)).body["items"][0]["note"] == "x"


async def test_events_are_selected_by_involved_object(api: HttpApi) -> None:
    for name, about in (("a", "p"), ("b", "q")):
        await api.post(CORE, {"metadata": {"name": name}, "involvedObject": {**POD, "name": about}})
    for path, selector in (
        (CORE, "involvedObject.name=p,involvedObject.kind=Pod"),
        (NEWER, "regarding.name=p"),
        ("/api/v1/events", "involvedObject.uid=u,involvedObject.name=p"),
    ):
        items = (await api.get(path, fieldSelector=selector)).body["items"]
        assert [item["metadata"]["name"] for item in items] == ["a"], selector


@pytest.mark.only("embedded", because="the real one forgets after an hour")
async def test_events_expire(api: HttpApi, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "ab":
        await api.post(CORE, {"metadata": {"name": name}, "involvedObject": POD})
    monkeypatch.setattr(plain_kinds, "_EVENTS_LAST_SECONDS", -60)
    await api.post(CORE, {"metadata": {"name": "c"}, "involvedObject": POD})
    assert (await api.get(CORE)).body["items"] == []


@pytest.mark.only("embedded", because="the real one has no such limit")
async def test_oldest_events_give_way_to_new_ones(api: HttpApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_kinds, "MAX_EVENTS", 2)
    for name in "abc":
        await api.post(CORE, {"metadata": {"name": name}, "involvedObject": POD})
    items = (await api.get(CORE)).body["items"]
    assert [item["metadata"]["name"] for item in items] == ["b", "c"]
