"""The claims of a Job's volumes, and the objects of its plugins: created before the pods, each once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from stromboli.controllers.jobs.plugins.plugin import PluginObject
from stromboli.controllers.jobs.specification import JobSpecification
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import PatchKind, delete_options
from stromboli.kube.objects.catalogue import CLAIMS
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.jobs import claims_of
from stromboli.workloads.families.volcano.tasks import claim_names
from stromboli.workloads.pod_documents import owner_of

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

_PLUGIN, _CLAIM = "plugin-", "volume-pvc-"


class JobBlocked(Exception):
    """The pods of a Job cannot be created now: the reason of the event, and its message."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def controlled_resources(job: WorkloadDocument, spec: JobSpecification, *, with_plugins: bool) -> dict[str, str]:
    """Return the plugins and claims of a Job, as Volcano lists them in the status."""
    plugins = {f"{_PLUGIN}{plugin.name}": plugin.name for plugin in spec.plugins}
    return {**(plugins if with_plugins else {}), **{f"{_CLAIM}{name}": name for name in claim_names(job)}}


def has_plugin_objects(resources: Mapping[str, str] | None) -> bool:
    """Report whether the objects of plugins may exist."""
    return any(key.startswith(_PLUGIN) for key in resources or ())


class PreparedObjects:
    """Creates, updates and deletes the objects. Kinds are found by discovery: plugins may have any."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._plurals: dict[tuple[str, str], str] = {}

    async def create(self, job: WorkloadDocument, spec: JobSpecification) -> None:
        """Create what is missing. Raises JobBlocked or RequestFailed."""
        await self._create_claims(job)
        await asyncio.gather(*(self._create(job, each) for each in _objects(job, spec)))

    async def delete(self, job: WorkloadDocument, spec: JobSpecification) -> None:
        """Delete the objects of plugins. Claims stay until the Job is deleted."""
        await asyncio.gather(*(self._delete(job, each) for each in _objects(job, spec)))

    # -- claims -------------------------------------------------------------------------------------------------

    async def _create_claims(self, job: WorkloadDocument) -> None:
        created = {each.document["metadata"]["name"]: each.document for each in claims_of(job)}
        for name in dict.fromkeys(claim_names(job)):
            if await self._has_claim(job, name):
                continue
            if name not in created:
                message = f"PersistentVolumeClaim {name} does not exist; the Job waits until it is created"
                raise JobBlocked("PVCError", message)
            try:
                await self._client.create(CLAIMS, created[name], namespace=job.namespace)
            except ApiError as error:
                if error.is_invalid or error.is_denied:
                    raise JobBlocked("PVCError", f"PersistentVolumeClaim {name}: {error.message}") from error
                raise

    async def _has_claim(self, job: WorkloadDocument, name: str) -> bool:
        try:
            claim = await self._client.get(CLAIMS, name, namespace=job.namespace)
        except ApiError as error:
            if error.is_missing:
                return False
            raise
        if claim.metadata.deletion_timestamp is not None:
            raise JobBlocked("PVCError", f"PersistentVolumeClaim {name} is being deleted")
        return True

    # -- objects of plugins -------------------------------------------------------------------------------------

    async def _create(self, job: WorkloadDocument, needed: PluginObject) -> None:
        present = await self._get(job, needed)
        try:
            if present is None:
                await self._send("POST", await self._path(job, needed), _manifest(job, needed))
            elif needed.follows_tasks and (patch := _changes(present, needed.make())):
                path = await self._path(job, needed, needed.name)
                await self._send("PATCH", path, patch, PatchKind.MERGE.value)
        except ApiError as error:
            if error.is_invalid or error.is_denied:
                raise JobBlocked("PluginError", f"{needed.kind} {needed.name}: {error.message}") from error
            raise

    async def _delete(self, job: WorkloadDocument, needed: PluginObject) -> None:
        try:
            present = await self._get(job, needed)
            if present is not None:
                options = delete_options(present["metadata"]["uid"], "", None, "Background")
                await self._send("DELETE", await self._path(job, needed, needed.name), options)
        except JobBlocked:
            return
        except ApiError as error:
            if not error.is_missing:
                raise

    async def _get(self, job: WorkloadDocument, needed: PluginObject) -> dict[str, Any] | None:
        """Return the object of this Job. Raises JobBlocked if another one has its name."""
        try:
            present = msgspec.json.decode(await self._send("GET", await self._path(job, needed, needed.name)))
        except ApiError as error:
            if error.is_missing:
                return None
            raise
        metadata = present["metadata"]
        if all(owner.get("uid") != job.uid for owner in metadata.get("ownerReferences") or ()):
            message = f"{needed.kind} {needed.name} exists and does not belong to this Job; delete or rename it"
            raise JobBlocked("PluginError", message)
        if metadata.get("deletionTimestamp"):
            raise JobBlocked("PluginError", f"{needed.kind} {needed.name} is being deleted")
        found: dict[str, Any] = present
        return found

    async def _send(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> bytes:
        encoded = None if body is None else msgspec.json.encode(body)
        return await self._client.request(method, path, body=encoded, content_type=content_type)

    async def _path(self, job: WorkloadDocument, needed: PluginObject, name: str = "") -> str:
        root = f"/apis/{needed.api_version}" if "/" in needed.api_version else f"/api/{needed.api_version}"
        plural = await self._plural(root, needed)
        path = f"{root}/namespaces/{quote(job.namespace, safe='')}/{plural}"
        return f"{path}/{quote(name, safe='')}" if name else path

    async def _plural(self, root: str, needed: PluginObject) -> str:
        key = needed.api_version, needed.kind
        if key not in self._plurals:
            try:
                served = msgspec.json.decode(await self._client.request("GET", root))["resources"]
            except ApiError as error:
                if not error.is_missing:
                    raise
                served = []
            for entry in served:
                if "/" not in entry["name"]:
                    self._plurals[needed.api_version, entry["kind"]] = entry["name"]
        if key not in self._plurals:
            raise JobBlocked("PluginError", f"{needed.api_version} {needed.kind} is not served by the API server")
        return self._plurals[key]


def _objects(job: WorkloadDocument, spec: JobSpecification) -> Iterator[PluginObject]:
    for plugin in spec.plugins:
        yield from plugin.objects(job)


def _manifest(job: WorkloadDocument, needed: PluginObject) -> dict[str, Any]:
    made = needed.make()
    metadata = {**(made.get("metadata") or {}), "name": needed.name, "namespace": job.namespace}
    metadata["ownerReferences"] = [owner_of(job)]
    return {**made, "apiVersion": needed.api_version, "kind": needed.kind, "metadata": metadata}


def _changes(present: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch of the parts that the plugin makes; metadata and status stay."""
    parts = (key for key in made if key not in ("apiVersion", "kind", "metadata", "status"))
    return {key: _replaced(present.get(key), made[key]) for key in parts if _differs(present.get(key), made[key])}


def _differs(present: Any, made: Any) -> bool:
    """Report whether a part differs; fields that the server adds to a spec do not count, entries of data do."""
    if isinstance(made, Mapping) and isinstance(present, Mapping):
        return any(_differs(present.get(key), value) for key, value in made.items()) or _is_data(made, present)
    return bool(made != present)


def _is_data(made: Mapping[str, Any], present: Mapping[str, Any]) -> bool:
    return all(isinstance(value, str) for value in present.values()) and made.keys() != present.keys()


def _replaced(present: Any, made: Any) -> Any:
    """Return a merge patch that removes entries of data which are not made any more."""
    if isinstance(made, Mapping) and isinstance(present, Mapping) and _is_data(made, present):
        return {**dict.fromkeys(present), **made}
    return made
