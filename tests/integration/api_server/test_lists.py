"""Lists: pages, versions and selectors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.api_server.http_api import CONFIG_MAPS, PODS, HttpApi, binding, pod


async def names(api: HttpApi, path: str, **query: str) -> list[str]:
    reply = await api.get(path, **query)
    assert reply.status == 200, reply.body
    return [item["metadata"]["name"] for item in reply.body["items"]]


async def five(api: HttpApi) -> None:
    for name in "cabed":
        await api.post(CONFIG_MAPS, {"metadata": {"name": name}})


async def test_list_is_sorted_with_version(api: HttpApi) -> None:
    await five(api)
    body = (await api.get(CONFIG_MAPS)).body
    assert (body["kind"], body["apiVersion"]) == ("ConfigMapList", "v1")
    assert int(body["metadata"]["resourceVersion"]) > 0
    assert [item["metadata"]["name"] for item in body["items"]] == list("abcde")
    assert "kind" not in body["items"][0], "items of built-in kinds have no kind"


async def test_pages_show_one_resource_version(api: HttpApi) -> None:
    await five(api)
    first = (await api.get(CONFIG_MAPS, limit="2")).body
    assert first["metadata"]["remainingItemCount"] == 3
    await api.delete(f"{CONFIG_MAPS}/d")
    await api.post(CONFIG_MAPS, {"metadata": {"name": "f"}})
    second = (await api.get(CONFIG_MAPS, limit="2", **{"continue": first["metadata"]["continue"]})).body
    third = (await api.get(CONFIG_MAPS, limit="2", **{"continue": second["metadata"]["continue"]})).body
    pages = [first, second, third]
    assert [[item["metadata"]["name"] for item in page["items"]] for page in pages] == [["a", "b"], ["c", "d"], ["e"]]
    assert len({page["metadata"]["resourceVersion"] for page in pages}) == 1
    assert "continue" not in third["metadata"]


@pytest.mark.only("embedded", because="the real server cannot compact at once")
async def test_pages_expire(api: HttpApi) -> None:
    await five(api)
    token = (await api.get(CONFIG_MAPS, limit="2")).body["metadata"]["continue"]
    api.server.compact()
    reply = await api.get(CONFIG_MAPS, limit="2", **{"continue": token})
    assert (reply.status, reply.reason) == (410, "Expired")
    assert (await api.get(CONFIG_MAPS, limit="2", **{"continue": "???"})).status == 400


async def test_selected_list_has_no_remaining_count(api: HttpApi) -> None:
    await five(api)
    page = (await api.get(CONFIG_MAPS, limit="2", fieldSelector="metadata.name!=a")).body
    assert "remainingItemCount" not in page["metadata"]
    assert [item["metadata"]["name"] for item in page["items"]] == ["b", "c"]


async def test_list_at_future_version_times_out(api: HttpApi) -> None:
    assert (await api.get(CONFIG_MAPS, resourceVersion="999999")).status == 504
    assert (await api.get(CONFIG_MAPS, resourceVersion="0")).status == 200


LABELS: dict[str, dict[str, str]] = {
    "a": {"app": "web", "tier": "1", "gpu": ""},
    "b": {"app": "db", "tier": "2"},
    "c": {"tier": "30"},
}
LABEL_SELECTORS = [
    ("app=web", "a"),
    ("app==web", "a"),
    ("app!=web", "bc"),
    ("app", "ab"),
    ("!app", "c"),
    ("app in (web, db)", "ab"),
    ("app notin (web)", "bc"),
    ("app in (web,db),tier=2", "b"),
    ("tier>1", "bc"),
    ("tier<2", "a"),
    ("gpu=", "a"),
    ("", "abc"),
]


@pytest.mark.parametrize(("selector", "wanted"), LABEL_SELECTORS)
async def test_label_selectors(api: HttpApi, selector: str, wanted: str) -> None:
    for name, labels in LABELS.items():
        await api.post(CONFIG_MAPS, {"metadata": {"name": name, "labels": labels}})
    assert await names(api, CONFIG_MAPS, labelSelector=selector) == list(wanted)


FIELD_SELECTORS = [
    ("metadata.name=b", "b"),
    ("metadata.name!=b", "ac"),
    ("metadata.namespace=default", "abc"),
    ("spec.nodeName=n1", "a"),
    ("spec.nodeName=", "bc"),
    ("spec.nodeName!=,status.phase=Pending", "a"),
    ("spec.schedulerName=volcano", "b"),
    ("status.phase=Running", "c"),
]


@pytest.mark.parametrize(("selector", "wanted"), FIELD_SELECTORS)
async def test_field_selectors(api: HttpApi, selector: str, wanted: str) -> None:
    specs: dict[str, dict[str, Any]] = {"a": {}, "b": {"schedulerName": "volcano"}, "c": {}}
    for name, spec in specs.items():
        await api.post(PODS, pod(name, **spec))
    await api.post(f"{PODS}/a/binding", binding("n1", "a"))
    await api.patch(f"{PODS}/c/status", {"status": {"phase": "Running"}})
    assert await names(api, PODS, fieldSelector=selector) == list(wanted)


@pytest.mark.parametrize(
    ("parameter", "selector"),
    [
        ("labelSelector", "a b"),
        ("labelSelector", "app in web"),
        ("labelSelector", "tier>many"),
        ("fieldSelector", "spec.containers=x"),
        ("fieldSelector", "metadata.name"),
    ],
)
async def test_invalid_selector_is_rejected(api: HttpApi, parameter: str, selector: str) -> None:
    reply = await api.get(PODS, **{parameter: selector})
    assert (reply.status, reply.reason) == (400, "BadRequest")


async def test_long_list_without_limit(api: HttpApi) -> None:
    for name in ("a", "b"):
        await api.post(CONFIG_MAPS, {"metadata": {"name": name}, "data": {"x": "y" * 1_000_000}})
    assert await names(api, CONFIG_MAPS) == ["a", "b"]
