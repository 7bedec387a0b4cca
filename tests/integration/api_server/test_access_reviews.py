"""Reviews by the roles and bindings of the cluster."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stromboli.kube.client.client import Client
from stromboli.local.api_server.server import ApiServer

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_READER = {"verbs": ["get", "list"], "apiGroups": ["batch"], "resources": ["jobs", "jobs/status"]}
_ONE = {"verbs": ["*"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["one"]}
_PATHS = {"verbs": ["get"], "nonResourceURLs": ["/metrics", "/debug/*"]}
_ANA = [{"kind": "User", "name": "ana", "apiGroup": "rbac.authorization.k8s.io"}]
_LAB = [{"kind": "Group", "name": "lab", "apiGroup": "rbac.authorization.k8s.io"}]
_BOT = [{"kind": "ServiceAccount", "name": "bot", "namespace": "team-b"}]


def _of(verb: str, resource: str, namespace: str = "", **further: str) -> dict[str, Any]:
    return {"resourceAttributes": {"verb": verb, "resource": resource, "namespace": namespace, **further}}


def _on(path: str, verb: str = "get") -> dict[str, Any]:
    return {"nonResourceAttributes": {"path": path, "verb": verb}}


#: Name, user, groups, question, answer.
CASES = [
    ("bound by a role in the namespace", "ana", [], _of("list", "jobs", "team-a", group="batch"), True),
    ("another namespace", "ana", [], _of("list", "jobs", "team-b", group="batch"), False),
    ("all namespaces", "ana", [], _of("list", "jobs", group="batch"), False),
    ("another verb", "ana", [], _of("delete", "jobs", "team-a", group="batch"), False),
    ("another group of the API", "ana", [], _of("list", "jobs", "team-a"), False),
    ("a subresource", "ana", [], _of("get", "jobs", "team-a", group="batch", subresource="status"), True),
    ("another subresource", "ana", [], _of("get", "jobs", "team-a", group="batch", subresource="scale"), False),
    ("a named object", "x", ["lab"], _of("delete", "pods", "team-a", name="one"), True),
    ("an object of another name", "x", ["lab"], _of("delete", "pods", "team-a", name="two"), False),
    ("a path", "x", ["lab"], _on("/debug/x"), True),
    ("another path", "x", ["lab"], _on("/other"), False),
    ("a service account", "system:serviceaccount:team-b:bot", [], _of("get", "jobs", "team-c", group="batch"), True),
    ("a stranger", "eve", [], _of("get", "jobs", "team-a", group="batch"), False),
    ("a master", "root", ["system:masters"], _of("delete", "nodes"), True),
]  # fmt: skip


async def _bind(client: Client, name: str, rule: dict[str, Any], subjects: list[Any], namespace: str = "") -> None:
    place = f"{_RBAC}/namespaces/{namespace}" if namespace else _RBAC
    prefix, plural = ("", "role") if namespace else ("Cluster", "clusterrole")
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": f"{prefix}Role", "name": name}
    metadata = {"name": name}
    bound = {"subjects": subjects, "roleRef": reference}
    for kind, extra in ((plural, {"rules": [rule]}), (f"{plural}binding", bound)):
        await client.request("POST", f"{place}/{kind}s", body=_encoded({"metadata": metadata, **extra}))


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value)


@pytest.mark.only("embedded", because="a real one has users of its own")
async def test_reviews_follow_roles_and_bindings() -> None:
    async with ApiServer(users={"token-of-ana": "ana"}) as server, Client(server.connection) as client:
        for namespace in ("team-a", "team-b"):
            await client.request("POST", "/api/v1/namespaces", body=_encoded({"metadata": {"name": namespace}}))
        await _bind(client, "reader", _READER, _ANA, "team-a")
        await _bind(client, "one", _ONE, _LAB)
        await _bind(client, "paths", _PATHS, _LAB)
        await _bind(client, "bots", _READER, _BOT)

        async def review(kind: str, spec: dict[str, Any]) -> Any:
            group = "authentication" if kind == "tokenreviews" else "authorization"
            path = f"/apis/{group}.k8s.io/v1/{kind}"
            return msgspec.json.decode(await client.request("POST", path, body=_encoded({"spec": spec})))["status"]

        for name, user, groups, question, is_allowed in CASES:
            found = await review("subjectaccessreviews", {"user": user, "groups": groups, **question})
            assert found["allowed"] is is_allowed, name
        for token, user in ((server.token, "stromboli:admin"), ("token-of-ana", "ana"), ("wrong", "")):
            found = await review("tokenreviews", {"token": token})
            assert (found["authenticated"], found["user"].get("username", "")) == (bool(user), user)
