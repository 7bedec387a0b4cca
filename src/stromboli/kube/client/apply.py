"""Server-side apply of manifests of any kind; paths come from the server's discovery."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import FIELD_MANAGER, Client, PatchKind
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.kinds import name_of

#: Kinds that are applied first, because other objects need them.
_FIRST = ("Namespace", "CustomResourceDefinition", "PriorityClass", "Node", "HyperNode", "Queue", "PodGroup")
#: Kinds with a status that is applied too: no other process writes it for simulated nodes.
_WITH_STATUS = ("Node",)

Report = Callable[[Mapping[str, Any], str], None]


class Applier:
    """Applies documents one after another, server-side."""

    def __init__(self, client: Client) -> None:
        self._client = client
        #: The object that is applied, or was applied last.
        self.current: Mapping[str, Any] = {}
        self._served: dict[str, dict[str, tuple[str, bool]]] = {}

    async def apply(self, documents: Iterable[Mapping[str, Any]], report: Report | None = None) -> int:
        """Apply the documents in a valid order and return their number. Raises ObjectError or RequestFailed.

        `report` is called for each object with `created`, `configured` or `unchanged`.
        """
        ordered = sorted(documents, key=_place)
        for document in ordered:
            self.current = document
            path = await self._object_path(document)
            before = await self._version(path) if report else ""
            after = await self._apply_one(path, document)
            if report:
                report(document, "created" if not before else "configured" if before != after else "unchanged")
        return len(ordered)

    async def _object_path(self, document: Mapping[str, Any]) -> str:
        metadata = document.get("metadata") or {}
        name, namespace = metadata.get("name"), metadata.get("namespace") or "default"
        if not name:
            raise ObjectError(
                str(document.get("kind")), name_of(document), "metadata.name", "is missing", "give it a name"
            )
        return f"{await self._path(document, namespace)}/{quote(name, safe='')}"

    async def _apply_one(self, path: str, document: Mapping[str, Any]) -> str:
        """Return the resource version of the applied object."""
        version = await self._send(path, document)
        if document.get("kind") in _WITH_STATUS and document.get("status"):
            status = {key: document[key] for key in ("apiVersion", "kind", "status")}
            version = await self._send(f"{path}/status", {**status, "metadata": {"name": document["metadata"]["name"]}})
        return version

    async def _version(self, path: str) -> str:
        """Return the resource version of an object; empty if it does not exist."""
        try:
            return _version_in(await self._client.request("GET", path))
        except ApiError as error:
            if error.is_missing:
                return ""
            raise

    async def _send(self, path: str, document: Mapping[str, Any]) -> str:
        applied = await self._client.request(
            "PATCH",
            path,
            params={"fieldManager": FIELD_MANAGER, "force": "true"},
            body=msgspec.json.encode(document),
            content_type=PatchKind.APPLY.value,
        )
        return _version_in(applied)

    async def _path(self, document: Mapping[str, Any], namespace: str) -> str:
        api_version, kind = str(document.get("apiVersion")), str(document.get("kind"))
        served = self._served.get(api_version) or await self._discover(api_version)
        if kind not in served:
            remedy = "check apiVersion and kind, or install its definition first"
            raise ObjectError(kind, name_of(document), "kind", f"{api_version} {kind} is not served", remedy)
        plural, namespaced = served[kind]
        scope = f"/namespaces/{quote(namespace, safe='')}" if namespaced else ""
        return f"{_root(api_version)}{scope}/{plural}"

    async def _discover(self, api_version: str) -> dict[str, tuple[str, bool]]:
        try:
            answer = msgspec.json.decode(await self._client.request("GET", _root(api_version)))
        except ApiError as error:
            if error.is_missing:
                return {}
            raise
        resources = [entry for entry in answer.get("resources") or () if "/" not in entry["name"]]
        self._served[api_version] = {entry["kind"]: (entry["name"], entry["namespaced"]) for entry in resources}
        return self._served[api_version]


def _version_in(body: bytes) -> str:
    return str(msgspec.json.decode(body)["metadata"]["resourceVersion"])


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _place(document: Mapping[str, Any]) -> int:
    kind = document.get("kind")
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)
