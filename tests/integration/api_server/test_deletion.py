"""Deletion: immediate, graceful, or after all finalizers are removed."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.local.api_server.server import ApiServer
from tests.integration.api_server.http_api import (
    CONFIG_MAPS,
    CRDS,
    PODS,
    HttpApi,
    binding,
    connected,
    definition,
    pod,
)

NAMESPACES = "/api/v1/namespaces"


def config(name: str = "c", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}}


async def test_object_without_finalizers_is_removed_at_once(api: HttpApi) -> None:
    uid = (await api.post(CONFIG_MAPS, config())).body["metadata"]["uid"]
    reply = await api.delete(f"{CONFIG_MAPS}/c")
    assert (reply.status, reply.body["status"]) == (200, "Success")
    assert reply.body["details"] == {"name": "c", "kind": "configmaps", "uid": uid}
    assert (await api.delete(f"{CONFIG_MAPS}/c")).status == 404


PRECONDITIONS = [
    ("the right identity", {"uid": "{uid}"}, 200),
    ("another identity", {"uid": "other"}, 409),
    ("the right version", {"resourceVersion": "{version}"}, 200),
    ("another version", {"resourceVersion": "1"}, 409),
]


@pytest.mark.parametrize(
    ("preconditions", "status"), [case[1:] for case in PRECONDITIONS], ids=[case[0] for case in PRECONDITIONS]
)
async def test_preconditions(api: HttpApi, preconditions: dict[str, str], status: int) -> None:
    metadata = (await api.post(CONFIG_MAPS, config())).body["metadata"]
    known = {"uid": metadata["uid"], "version": metadata["resourceVersion"]}
    wanted = {key: value.format(**known) for key, value in preconditions.items()}
    reply = await api.delete(f"{CONFIG_MAPS}/c", {"preconditions": wanted})
    assert reply.status == status
    if status == 409:
        assert "in the precondition" in reply.message


async def test_finalizer_delays_removal(api: HttpApi) -> None:
    await api.post(CONFIG_MAPS, config(finalizers=["a.dev/x", "a.dev/y"]))
    marked = (await api.delete(f"{CONFIG_MAPS}/c")).body["metadata"]
    assert marked["deletionTimestamp"]
    again = (await api.delete(f"{CONFIG_MAPS}/c")).body["metadata"]
    assert again["resourceVersion"] == marked["resourceVersion"], "a second deletion changes nothing"
    more = await api.patch(f"{CONFIG_MAPS}/c", {"metadata": {"finalizers": ["a.dev/x", "a.dev/y", "a.dev/z"]}})
    assert (more.status, more.reason) == (422, "Invalid")
    assert (await api.patch(f"{CONFIG_MAPS}/c", {"metadata": {"finalizers": ["a.dev/y"]}})).status == 200
    assert (await api.patch(f"{CONFIG_MAPS}/c", {"metadata": {"finalizers": None}})).status == 200
    assert (await api.get(f"{CONFIG_MAPS}/c")).status == 404


PROPAGATIONS = [
    ("in the foreground", {"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
    ("orphans", {"propagationPolicy": "Orphan"}, ["orphan"]),
    ("deprecated orphanDependents", {"orphanDependents": True}, ["orphan"]),
    ("in the background", {"propagationPolicy": "Background"}, None),
]


@pytest.mark.parametrize(
    ("options", "finalizers"), [case[1:] for case in PROPAGATIONS], ids=[case[0] for case in PROPAGATIONS]
)
async def test_propagation_policy_sets_finalizer(
    api: HttpApi, options: dict[str, Any], finalizers: list[str] | None
) -> None:
    await api.post(CONFIG_MAPS, config())
    await api.delete(f"{CONFIG_MAPS}/c", options)
    found = await api.get(f"{CONFIG_MAPS}/c")
    assert found.body["metadata"].get("finalizers") == finalizers


async def test_job_deletion_orphans_pods_by_default(api: HttpApi) -> None:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    await api.post(jobs, {"metadata": {"name": "j"}, "spec": {"template": template}})
    assert (await api.delete(f"{jobs}/j")).body["metadata"]["finalizers"] == ["orphan"]
    assert (await api.delete(f"{jobs}/j", {"propagationPolicy": "Background"})).body["status"] == "Success"


async def test_unbound_pod_is_removed_at_once(api: HttpApi) -> None:
    await api.post(PODS, pod())
    assert (await api.delete(f"{PODS}/p")).body["kind"] == "Pod"
    assert (await api.get(f"{PODS}/p")).status == 404


async def test_bound_pod_gets_grace_period(api: HttpApi) -> None:
    await api.post(PODS, pod())
    await api.post(f"{PODS}/p/binding", binding())
    marked = (await api.delete(f"{PODS}/p")).body["metadata"]
    assert marked["deletionGracePeriodSeconds"] == 30
    longer = (await api.delete(f"{PODS}/p", {"gracePeriodSeconds": 60})).body["metadata"]
    assert longer["deletionGracePeriodSeconds"] == 30, "the grace period cannot grow"
    shorter = (await api.delete(f"{PODS}/p", {"gracePeriodSeconds": 5})).body["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 5
    await api.delete(f"{PODS}/p", {"gracePeriodSeconds": 0})
    assert (await api.get(f"{PODS}/p")).status == 404


async def test_finished_pod_is_removed_at_once(api: HttpApi) -> None:
    await api.post(PODS, pod())
    await api.post(f"{PODS}/p/binding", binding())
    await api.patch(f"{PODS}/p/status", {"status": {"phase": "Succeeded"}})
    await api.delete(f"{PODS}/p")
    assert (await api.get(f"{PODS}/p")).status == 404


async def test_pod_with_finalizer_outlives_grace_period(api: HttpApi) -> None:
    await api.post(PODS, {**pod(), "metadata": {"name": "p", "finalizers": ["batch.dev/counted"]}})
    await api.delete(f"{PODS}/p", {"gracePeriodSeconds": 0})
    assert (await api.get(f"{PODS}/p")).body["metadata"]["deletionGracePeriodSeconds"] == 0
    await api.patch(f"{PODS}/p", {"metadata": {"finalizers": []}})
    assert (await api.get(f"{PODS}/p")).status == 404


@pytest.mark.only("embedded", because="a bare control plane has no namespace controller")
async def test_namespace_deletion_removes_contents(api: HttpApi) -> None:
    await api.post(NAMESPACES, {"metadata": {"name": "team"}})
    await api.post(f"{NAMESPACES}/team/configmaps", config())
    await api.post(f"{NAMESPACES}/team/pods", pod())
    reply = await api.delete(f"{NAMESPACES}/team")
    assert reply.body["status"]["phase"] == "Terminating"
    assert (await api.get(f"{NAMESPACES}/team")).status == 404
    assert (await api.get("/api/v1/pods")).body["items"] == []


@pytest.mark.only("embedded", because="a bare control plane has no namespace controller")
async def test_namespace_waits_for_last_object(api: HttpApi) -> None:
    await api.post(NAMESPACES, {"metadata": {"name": "team"}})
    await api.post(f"{NAMESPACES}/team/configmaps", config(finalizers=["a.dev/x"]))
    await api.delete(f"{NAMESPACES}/team")
    assert (await api.get(f"{NAMESPACES}/team")).body["status"]["phase"] == "Terminating"
    refused = await api.post(f"{NAMESPACES}/team/configmaps", config("late"))
    assert (refused.status, refused.body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    await api.patch(f"{NAMESPACES}/team/configmaps/c", {"metadata": {"finalizers": None}})
    assert (await api.get(f"{NAMESPACES}/team")).status == 404


@pytest.mark.only("embedded", because="a bare control plane has no namespace controller")
async def test_contents_of_deleted_namespace_can_be_deleted_by_the_client_first() -> None:
    async with ApiServer(namespace_grace=3600) as server, connected(server) as api:
        await api.post(NAMESPACES, {"metadata": {"name": "team"}})
        for name in ("a", "b"):
            await api.post(f"{NAMESPACES}/team/configmaps", config(name))
        assert (await api.delete(f"{NAMESPACES}/team")).status == 200
        assert (await api.delete(f"{NAMESPACES}/team/configmaps/a")).status == 200
        assert (await api.get(f"{NAMESPACES}/team")).body["status"]["phase"] == "Terminating"
        assert (await api.delete(f"{NAMESPACES}/team/configmaps/b")).status == 200
        assert (await api.get(f"{NAMESPACES}/team")).status == 404, "the namespace is empty"


@pytest.mark.only("embedded", because="a bare control plane has no namespace controller")
async def test_contents_of_deleted_namespace_are_deleted_after_grace_period() -> None:
    async with ApiServer(namespace_grace=0.01) as server, connected(server) as api:
        await api.post(NAMESPACES, {"metadata": {"name": "team"}})
        await api.post(f"{NAMESPACES}/team/configmaps", config())
        await api.delete(f"{NAMESPACES}/team")
        await api.until(f"{NAMESPACES}/team", 404)


async def test_crd_deletion_removes_objects(api: HttpApi) -> None:
    await api.define(definition("things", "Thing", {"type": "object"}))
    things = "/apis/test.dev/v1/namespaces/default/things"
    identity = {"apiVersion": "test.dev/v1", "kind": "Thing"}
    assert (await api.post(things, {**identity, **config("a")})).status == 201
    assert (await api.post(things, {**identity, **config("b", finalizers=["a.dev/x"])})).status == 201
    await api.delete(f"{CRDS}/things.test.dev")
    await api.until(f"{things}/a", 404)
    assert [item["metadata"]["name"] for item in (await api.get(things)).body["items"]] == ["b"]
    await api.patch(f"{things}/b", {"metadata": {"finalizers": None}})
    await api.until(f"{CRDS}/things.test.dev", 404)
    await api.until(things, 404)
    await api.define(definition("things", "Thing", {"type": "object"}))
    assert (await api.get(things)).body["items"] == []


async def test_system_namespaces_cannot_be_deleted(api: HttpApi) -> None:
    assert (await api.delete(f"{NAMESPACES}/default")).status == 403
    assert (await api.get(f"{NAMESPACES}/default")).body["status"]["phase"] == "Active"


@pytest.mark.only("embedded", because="the real server keeps objects of a removed namespace")
async def test_namespace_finalize_subresource(api: HttpApi) -> None:
    await api.post(NAMESPACES, {"metadata": {"name": "team"}})
    await api.post(f"{NAMESPACES}/team/configmaps", config(finalizers=["a.dev/x"]))
    body = (await api.delete(f"{NAMESPACES}/team")).body
    finished = {**body, "spec": {"finalizers": []}}
    assert (await api.put(f"{NAMESPACES}/team", finished)).status == 200
    assert (await api.get(f"{NAMESPACES}/team")).status == 200, "not at this door"
    assert (await api.put(f"{NAMESPACES}/team/finalize", finished)).status == 200
    assert (await api.get(f"{NAMESPACES}/team")).status == 404
