"""Quantities of built-in kinds are stored in canonical form."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.api_server.http_api import APPLY, NODES, PODS, STRATEGIC, HttpApi, pod

NAMESPACE = "/api/v1/namespaces/default"
CONTAINER = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1000m"}, "limits": {"memory": "1024Mi"}}}
KEPT_CONTAINER = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2048Mi"}, "hostPath": {"path": "/x"}}


CASES: list[tuple[str, str, dict[str, Any], str, Any]] = [
    ("containers", PODS, {"spec": {"containers": [CONTAINER]}}, "spec.containers.0.resources", KEPT_CONTAINER),
    ("templates", "/apis/batch/v1/namespaces/default/jobs", {"spec": {"template": TEMPLATE}},
     "spec.template.spec.containers.0.resources.requests.cpu", "1"),
    ("nodes", NODES, {"status": {"capacity": {"cpu": "4000m", "memory": 4096}}}, "status.capacity",
     {"cpu": "4", "memory": "4096"}),
    ("claims", f"{NAMESPACE}/persistentvolumeclaims", {"spec": CLAIM}, "spec.resources.requests.storage", "1Gi"),
    ("volumes", "/api/v1/persistentvolumes", {"spec": VOLUME}, "spec.capacity.storage", "2Gi"),
    ("quotas", f"{NAMESPACE}/resourcequotas", {"spec": {"hard": {"pods": 3, "cpu": "2000m"}}}, "spec.hard",
     {"pods": "3", "cpu": "2"}),
]  # fmt: skip


def at(body: Any, path: str) -> Any:
    for step in path.split("."):
        body = body[int(step) if step.isdigit() else step]
    return body


@pytest.mark.parametrize(("path", "body", "where", "kept"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
async def test_quantities_are_stored_in_canonical_form(
    api: HttpApi, path: str, body: dict[str, Any], where: str, kept: Any
) -> None:
    reply = await api.post(path, {"metadata": {"name": "a"}, **body})
    assert reply.status == 201, reply.message
    assert at(reply.body, where) == kept


@pytest.mark.only("embedded", because="it knows no runtime classes, which alone may say what overhead is")
async def test_overhead_is_stored_in_canonical_form(api: HttpApi) -> None:
    reply = await api.post(PODS, pod(overhead={"cpu": 1}))
    assert reply.body["spec"]["overhead"] == {"cpu": "1"}


async def test_equal_quantity_changes_nothing(api: HttpApi) -> None:
    created = (await api.post(PODS, pod())).body
    same = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1000m"}}}]}}
    assert (await api.patch(f"{PODS}/p", same, media=STRATEGIC)).body == created
    applied = {"apiVersion": "v1", "kind": "Pod", **same}
    assert (await api.patch(f"{PODS}/p", applied, media=APPLY, fieldManager="m", force="true")).status == 200
    other = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1001m"}}}]}}
    assert (await api.patch(f"{PODS}/p", other, media=STRATEGIC)).status == 422


async def test_node_quantities_are_stored_in_canonical_form(api: HttpApi) -> None:
    await api.post(NODES, {"metadata": {"name": "n"}})
    reply = await api.patch(f"{NODES}/n/status", {"status": {"allocatable": {"cpu": "0.5"}}})
    assert reply.body["status"]["allocatable"] == {"cpu": "500m"}


async def test_invalid_quantity_is_rejected(api: HttpApi) -> None:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "many"}}}
    reply = await api.post(PODS, pod(containers=[container]))
    assert (reply.status, reply.reason) == (400, "BadRequest")
    assert "Pod: quantities must match the regular expression '^([+-]?[0-9.]+)" in reply.message
