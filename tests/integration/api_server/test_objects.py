"""Creating, reading, changing and deleting objects of any kind."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.api_server.http_api import (
    APPLY,
    CONFIG_MAPS,
    JSON_PATCH,
    MERGE,
    NODES,
    PODS,
    STRATEGIC,
    HttpApi,
    pod,
)


def config(name: str = "c", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def owned(*owners: Any) -> dict[str, Any]:
    return {"metadata": {"name": "owned", "ownerReferences": list(owners)}}


ANOTHER = {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "v", "controller": True}
CONTROLLER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}


async def test_new_object_gets_identity(api: HttpApi) -> None:
    reply = await api.post(CONFIG_MAPS, config(a="1"))
    assert reply.status == 201
    metadata = reply.body["metadata"]
    assert metadata["namespace"] == "default"
    assert metadata["uid"]
    assert metadata["creationTimestamp"].endswith("Z")
    assert metadata["resourceVersion"].isdigit()
    assert (await api.get(f"{CONFIG_MAPS}/c")).body == reply.body


async def test_every_write_increases_version(api: HttpApi) -> None:
    replies = [
        await api.post(CONFIG_MAPS, config("a")),
        await api.post(CONFIG_MAPS, config("b")),
        await api.patch(f"{CONFIG_MAPS}/a", {"data": {"x": "1"}}),
        await api.post(NODES, {"metadata": {"name": "n"}}),
    ]
    versions = [reply.body["metadata"]["resourceVersion"] for reply in replies]
    assert versions == sorted(versions, key=int)
    assert len(set(versions)) == 4


async def test_generated_names_are_distinct(api: HttpApi) -> None:
    body = {"metadata": {"generateName": "job-"}}
    names = {(await api.post(CONFIG_MAPS, body)).body["metadata"]["name"] for _ in range(5)}
    assert len(names) == 5
    assert all(name.startswith("job-") and len(name) == 9 for name in names)


REFUSED_CREATIONS = [
    ("the name is taken", CONFIG_MAPS, config("there"), 409, "AlreadyExists", 'configmaps "there" already exists'),
    (
        "no such namespace",
        "/api/v1/namespaces/nope/configmaps",
        config(),
        404,
        "NotFound",
        'namespaces "nope" not found',
    ),
    ("no name", CONFIG_MAPS, {"metadata": {}}, 422, "Invalid", "name or generateName is required"),
    ("a bad name", CONFIG_MAPS, config("Not_A_Name"), 422, "Invalid", "lowercase RFC 1123 subdomain"),
    (
        "another kind",
        CONFIG_MAPS,
        {"kind": "Secret", "metadata": {"name": "x"}},
        400,
        "BadRequest",
        "cannot be handled",
    ),
    (
        "another version",
        CONFIG_MAPS,
        {**config(), "apiVersion": "v2"},
        400,
        "BadRequest",
        'no kind "ConfigMap" is registered for version "v2"',
    ),
    (
        "another namespace",
        CONFIG_MAPS,
        {"metadata": {"name": "x", "namespace": "kube-system"}},
        400,
        "BadRequest",
        "does not match the namespace",
    ),
    ("no JSON", CONFIG_MAPS, b"{", 400, "BadRequest", "json parse error"),
    ("a list", CONFIG_MAPS, [], 400, "BadRequest", "the object provided is unrecognized"),
    ("bad labels", CONFIG_MAPS, {"metadata": {"name": "x", "labels": {"a": "b c"}}}, 422, "Invalid", "label"),
    ("labels of numbers", CONFIG_MAPS, {"metadata": {"name": "x", "labels": {"a": 1}}}, 400, "BadRequest", "labels"),
    (
        "half an owner",
        CONFIG_MAPS,
        owned({"kind": "Pod", "name": "p", "uid": "u"}),
        422,
        "Invalid",
        "version must not be empty",
    ),
    (
        "two controllers",
        CONFIG_MAPS,
        owned(CONTROLLER, ANOTHER),
        422,
        "Invalid",
        "Only one reference",
    ),
    ("an owner of text", CONFIG_MAPS, owned("owner"), 400, "BadRequest", "ownerReferences"),
    ("a version", CONFIG_MAPS, {"metadata": {"name": "x", "resourceVersion": "1"}}, 500, "", "should not be set"),
    ("no such resource", "/api/v1/namespaces/default/things", config(), 404, "NotFound", "could not find"),
    ("no namespace in the path", "/api/v1/configmaps", config(), 405, "MethodNotAllowed", "does not allow"),
]


@pytest.mark.parametrize(
    ("path", "body", "status", "reason", "words"),
    [case[1:] for case in REFUSED_CREATIONS],
    ids=[c[0] for c in REFUSED_CREATIONS],
)
async def test_invalid_creation_is_rejected(
    api: HttpApi, path: str, body: Any, status: int, reason: str, words: str
) -> None:
    await api.post(CONFIG_MAPS, config("there"))
    reply = await api.post(path, body)
    assert (reply.status, reply.reason) == (status, reason)
    assert words in reply.message
    assert reply.body["kind"] == "Status"
    assert reply.body["code"] == status


async def test_error_names_object(api: HttpApi) -> None:
    reply = await api.get(f"{PODS}/unknown")
    assert reply.status == 404
    assert reply.message == 'pods "unknown" not found'
    assert reply.body["details"] == {"name": "unknown", "kind": "pods"}


async def test_update_with_old_version_conflicts(api: HttpApi) -> None:
    first = (await api.post(CONFIG_MAPS, config(a="1"))).body
    second = await api.put(f"{CONFIG_MAPS}/c", {**first, "data": {"a": "2"}})
    assert second.status == 200
    late = await api.put(f"{CONFIG_MAPS}/c", {**first, "data": {"a": "3"}})
    assert (late.status, late.reason) == (409, "Conflict")
    assert "the object has been modified" in late.message
    without = await api.put(f"{CONFIG_MAPS}/c", config(a="4"))
    assert without.body["data"] == {"a": "4"}
    assert without.body["metadata"]["uid"] == first["metadata"]["uid"]


PATCHES = [
    ("merge", MERGE, {"data": {"a": None, "b": "2"}}, {"b": "2"}),
    ("JSON", JSON_PATCH, [{"op": "add", "path": "/data/b", "value": "2"}], {"a": "1", "b": "2"}),
    ("strategic merge", STRATEGIC, {"data": {"b": "2"}}, {"a": "1", "b": "2"}),
]


@pytest.mark.parametrize(("media", "patch", "data"), [case[1:] for case in PATCHES], ids=[case[0] for case in PATCHES])
async def test_patches(api: HttpApi, media: str, patch: Any, data: dict[str, str]) -> None:
    await api.post(CONFIG_MAPS, config(a="1"))
    reply = await api.patch(f"{CONFIG_MAPS}/c", patch, media=media)
    assert (reply.status, reply.body["data"]) == (200, data)


async def test_patch_checks_version_and_keeps_identity(api: HttpApi) -> None:
    body = (await api.post(CONFIG_MAPS, config(a="1"))).body
    version = {"metadata": {"resourceVersion": "1"}, "data": {"a": "2"}}
    assert (await api.patch(f"{CONFIG_MAPS}/c", version)).status == 409
    identity = {"metadata": {"uid": "other-uid"}, "data": {"a": "2"}}
    reply = await api.patch(f"{CONFIG_MAPS}/c", identity)
    assert (reply.status, reply.body["details"]["causes"][0]["field"]) == (422, "metadata.uid")
    assert 'metadata.uid: Invalid value: "other-uid": field is immutable' in reply.message
    applied = {"apiVersion": "v1", "kind": "ConfigMap", **identity}
    assert (await api.patch(f"{CONFIG_MAPS}/c", applied, media=APPLY, fieldManager="m", force="true")).status == 422
    whole = await api.put(f"{CONFIG_MAPS}/c", {**body, "metadata": {"name": "c", "uid": "other-uid"}})
    assert (whole.status, "UID in precondition: other-uid" in whole.message) == (409, True)
    right = {"metadata": {"resourceVersion": body["metadata"]["resourceVersion"]}, "data": {"a": "2"}}
    assert (await api.patch(f"{CONFIG_MAPS}/c", right)).body["data"] == {"a": "2"}


async def test_unchanged_object_is_not_written(api: HttpApi) -> None:
    empty: dict[str, object] = {"labels": {}, "annotations": None, "finalizers": []}
    body = (await api.post(CONFIG_MAPS, {**config(a="1"), "metadata": {"name": "c", **empty}})).body
    assert not empty.keys() & body["metadata"].keys()
    assert (await api.patch(f"{CONFIG_MAPS}/c", {"data": {"a": "1"}})).body == body
    assert (await api.put(f"{CONFIG_MAPS}/c", config(a="1"))).body == body


async def test_failed_patch_has_message(api: HttpApi) -> None:
    await api.post(CONFIG_MAPS, config(a="1"))
    test = await api.patch(f"{CONFIG_MAPS}/c", [{"op": "test", "path": "/data/a", "value": "2"}], media=JSON_PATCH)
    assert test.status == 422
    assert (await api.patch(f"{CONFIG_MAPS}/c", {}, media="text/plain")).status == 415
    assert (await api.patch(f"{CONFIG_MAPS}/none", {})).status == 404


async def test_dry_run_writes_nothing(api: HttpApi) -> None:
    reply = await api.post(CONFIG_MAPS, config(a="1"), dryRun="All")
    assert reply.status == 201
    assert reply.body["metadata"]["uid"]
    assert (await api.get(f"{CONFIG_MAPS}/c")).status == 404
    await api.post(CONFIG_MAPS, config(a="1"))
    assert (await api.patch(f"{CONFIG_MAPS}/c", {"data": {"a": "2"}}, dryRun="All")).body["data"] == {"a": "2"}
    assert (await api.delete(f"{CONFIG_MAPS}/c", dryRun="All")).status == 200
    assert (await api.get(f"{CONFIG_MAPS}/c")).body["data"] == {"a": "1"}


async def test_namespace_must_match_path(api: HttpApi) -> None:
    await api.post(CONFIG_MAPS, config(a="1"))
    await api.post("/api/v1/namespaces/kube-system/configmaps", config(a="2"))
    everything = (await api.get("/api/v1/configmaps", fieldSelector="metadata.name=c")).body
    assert [item["metadata"]["namespace"] for item in everything["items"]] == ["default", "kube-system"]
    assert len((await api.get(CONFIG_MAPS)).body["items"]) == 1


async def test_generation_counts_spec_changes(api: HttpApi) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    created = await api.post(path, {"metadata": {"name": "d"}, "spec": spec, "status": {"replicas": 9}})
    assert created.body["metadata"]["generation"] == 1
    assert created.body["status"] == {}
    assert (await api.patch(f"{path}/d", {"spec": {"replicas": 2}})).body["metadata"]["generation"] == 2
    labelled = await api.patch(f"{path}/d", {"metadata": {"labels": {"a": "b"}}, "status": {"replicas": 2}})
    assert labelled.body["metadata"]["generation"] == 2
    assert labelled.body["status"] == {}
    status = await api.patch(f"{path}/d/status", {"spec": {"replicas": 5}, "status": {"replicas": 2}})
    assert status.body["metadata"]["generation"] == 2
    assert (status.body["spec"]["replicas"], status.body["status"]) == (2, {"replicas": 2})


async def test_node_is_created_with_status(api: HttpApi) -> None:
    node = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4"}}}
    created = (await api.post(NODES, node)).body["status"]
    assert created["allocatable"] == {"cpu": "4"}
    assert (await api.patch(f"{NODES}/n", {"status": {"allocatable": {"cpu": "8"}}})).body["status"] == created
    changed = await api.patch(f"{NODES}/n/status", {"status": {"allocatable": {"cpu": "8"}}})
    assert changed.body["status"] == {**created, "allocatable": {"cpu": "8"}}


async def test_large_body_is_rejected(api: HttpApi) -> None:
    reply = await api.post(CONFIG_MAPS, config(a="x" * (3 * 1024 * 1024)))
    assert (reply.status, reply.reason) == (413, "RequestEntityTooLarge")


async def test_delete_collection_with_selector(api: HttpApi) -> None:
    for name, role in (("a", "x"), ("b", "y"), ("c", "x")):
        await api.post(PODS, {**pod(name), "metadata": {"name": name, "labels": {"role": role}}})
    reply = await api.delete(PODS, labelSelector="role=x")
    assert [item["metadata"]["name"] for item in reply.body["items"]] == ["a", "c"]
    assert [item["metadata"]["name"] for item in (await api.get(PODS)).body["items"]] == ["b"]
