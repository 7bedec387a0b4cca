"""All kinds of a server, as resources whose metadata is decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

KindName: TypeAlias = tuple[str, str]
"""API group and kind, as in owner references, without version."""

_NEEDED = {"delete", "list", "patch", "watch"}
_NEVER = {("", "events"), ("events.k8s.io", "events"), ("coordination.k8s.io", "leases")}
"""Excluded: too many, short-lived, and without owners."""


async def served_kinds(client: Client) -> dict[KindName, Resource[Any]]:
    """The kinds that can be listed, watched, patched and deleted, in the server's preferred version."""
    kinds = await _kinds_of(client, "", "v1", "/api/v1")
    groups = msgspec.json.decode(await client.request("GET", "/apis"))["groups"]
    for group in groups:
        name, version = group["name"], group["preferredVersion"]["version"]
        kinds |= await _kinds_of(client, name, version, f"/apis/{name}/{version}")
    return kinds


async def _kinds_of(client: Client, group: str, version: str, path: str) -> dict[KindName, Resource[Any]]:
    """The kinds of a group version; none if its server is unavailable or the group is being removed."""
    try:
        found = msgspec.json.decode(await client.request("GET", path))["resources"]
    except ApiError as error:
        if error.is_missing or error.status == 503:
            return {}
        raise
    return {
        (group, entry["kind"]): _resource(group, version, entry)
        for entry in found
        if "/" not in entry["name"] and set(entry["verbs"]) >= _NEEDED and (group, entry["name"]) not in _NEVER
    }


def _resource(group: str, version: str, entry: dict[str, Any]) -> Resource[Any]:
    scope = {"group": group, "namespaced": entry["namespaced"], "__doc__": "Any object, of which metadata is read."}
    kind = msgspec.defstruct(entry["kind"], [], bases=(TopLevel,), namespace=scope, gc=False)
    return Resource(kind, version, entry["name"])
