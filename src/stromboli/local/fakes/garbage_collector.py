"""The garbage collector.

An object is deleted when the last of its owners is gone. An owner with foreground deletion waits until its blocking
dependents are gone; one with orphaning waits until its dependents no longer reference it. Before a deletion the owner
is read from the server to confirm that it is gone, because the watch may lag behind.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import CRDS
from stromboli.kube.objects.cluster import CustomResourceDefinition
from stromboli.kube.objects.meta import OwnerReference, TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.kube.watch.informer import Informer
from stromboli.kube.watch.reflector import Reflector
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.local.fakes.ownership import FOREGROUND, ORPHAN, OwnedObject, Ownership

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
    kind, namespaced = entry["kind"], entry["namespaced"]
    scope = {"group": group, "kind_name": kind, "namespaced": namespaced, "__doc__": f"The metadata of a {kind}."}
    struct = msgspec.defstruct(kind, [], bases=(TopLevel,), namespace=scope, gc=False)
    return Resource(struct, version, entry["name"])


MAX_TOMBSTONES = 10_000
"""Number of deleted owners that are remembered."""

_DISCOVER = "discovery"
_log = logging.getLogger(__name__)


class GarbageCollector:
    """Watches the metadata of every served kind, including kinds that are defined later."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.ownership = Ownership()
        self._kinds: dict[KindName, Resource[Any]] = {}
        self._reflectors: dict[KindName, asyncio.Task[None]] = {}
        self._gone: dict[str, None] = {}
        self._definitions: Informer[CustomResourceDefinition] = Informer(client, CRDS)
        self._definitions.listen(lambda _old, _new: self._discovery.add(_DISCOVER))
        self._discovery: WorkQueue[str] = WorkQueue(self._discover, name="kinds", workers=1)
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="garbage")
        #: Number of collected objects.
        self.collected = 0

    async def run(self) -> None:
        """Run until cancelled."""
        self._discovery.add(_DISCOVER)
        try:
            async with asyncio.TaskGroup() as tasks:
                for part in (self._definitions, self._discovery, self.work):
                    tasks.create_task(part.run())
        finally:
            reflectors = list(self._reflectors.values())
            for task in reflectors:
                task.cancel()
            await asyncio.gather(*reflectors, return_exceptions=True)

    async def _discover(self, _: str) -> None:
        self._kinds = await served_kinds(self._client)
        for name in self._reflectors.keys() - self._kinds.keys():
            self._reflectors.pop(name).cancel()
            for entry in self.ownership.of_kind(*name):
                self.removed(entry)
        for name in self._kinds.keys() - self._reflectors.keys():
            resource = self._kinds[name]
            reflector = Reflector(self._client, resource, _Sink(self, resource), optional=True)
            self._reflectors[name] = asyncio.create_task(reflector.run())

    def applied(self, entry: OwnedObject) -> None:
        self.ownership.apply(entry)
        if entry.owners or entry.is_foreground_deletion or entry.orphans_dependents:
            self.work.add(entry.metadata.uid)

    def removed(self, entry: OwnedObject) -> None:
        """Check the dependents, which may have no owner now, and the owners, which may have waited for it."""
        uid = entry.metadata.uid
        for dependent in self.ownership.dependents(uid):
            self.work.add(dependent.metadata.uid)
        self.ownership.remove(uid)
        for reference in entry.owners:
            self.work.add(reference.uid or "")
        self._gone[uid] = None
        if len(self._gone) > MAX_TOMBSTONES:
            del self._gone[next(iter(self._gone))]

    async def _reconcile(self, uid: str) -> None:
        entry = self.ownership.get(uid)
        if entry is None:
            return
        if entry.is_foreground_deletion:
            await self._end_foreground(entry)
        elif entry.orphans_dependents:
            await self._orphan_dependents(entry)
        elif entry.owners and not entry.is_deleting:
            await self._collect(entry)

    async def _end_foreground(self, owner: OwnedObject) -> None:
        uid = owner.metadata.uid
        dependents = list(self.ownership.dependents(uid))
        for dependent in dependents:
            self.work.add(dependent.metadata.uid)
        if not any(dependent.is_blocking(uid) for dependent in dependents):
            await self._drop_finalizer(owner, FOREGROUND)

    async def _orphan_dependents(self, owner: OwnedObject) -> None:
        for dependent in self.ownership.dependents(owner.metadata.uid):
            await self._disown(dependent, {owner.metadata.uid})
        await self._drop_finalizer(owner, ORPHAN)

    async def _collect(self, entry: OwnedObject) -> None:
        gone, waiting = set(), set()
        for reference in entry.owners:
            owner = self.ownership.get(reference.uid or "")
            if owner is not None and owner.is_foreground_deletion:
                waiting.add(reference.uid or "")
            elif owner is None and not await self._exists(reference, entry):
                gone.add(reference.uid or "")
        if len(gone) + len(waiting) < len(entry.owners):
            if gone or waiting:
                await self._disown(entry, gone | waiting)
            return
        has_dependents = next(self.ownership.dependents(entry.metadata.uid), None) is not None
        await self._delete(entry, "Foreground" if waiting and has_dependents else "Background")

    async def _exists(self, reference: OwnerReference, dependent: OwnedObject) -> bool:
        """Report whether the owner exists; owners of unknown kinds or in ambiguous namespaces count as existing."""
        if reference.uid in self._gone:
            return False
        group = (reference.api_version or "").rpartition("/")[0]
        resource = self._kinds.get((group, reference.kind or ""))
        if resource is None or (resource.namespaced and not dependent.metadata.namespace):
            return True
        try:
            owner = await self._client.get(resource, reference.name or "", namespace=dependent.metadata.namespace)
        except ApiError as error:
            if not error.is_missing:
                raise
            return False
        return bool(owner.metadata.uid == reference.uid)

    async def _delete(self, entry: OwnedObject, propagation: str) -> None:
        metadata = entry.metadata
        try:
            await self._client.delete(
                entry.resource,
                metadata.name,
                namespace=metadata.namespace,
                uid=metadata.uid,
                resource_version=metadata.resource_version or "",
                propagation=propagation,
            )
        except ApiError as error:
            if not error.is_missing:
                raise
        else:
            self.collected += 1

    async def _disown(self, entry: OwnedObject, owners: set[str]) -> None:
        kept = [reference for reference in entry.owners if reference.uid not in owners]
        await self._patch(entry, {"ownerReferences": msgspec.to_builtins(kept) or None})

    async def _drop_finalizer(self, entry: OwnedObject, finalizer: str) -> None:
        kept = [name for name in entry.metadata.finalizers or () if name != finalizer]
        await self._patch(entry, {"finalizers": kept or None})

    async def _patch(self, entry: OwnedObject, changes: dict[str, Any]) -> None:
        """Lists are replaced as a whole, so only over the version that was read."""
        metadata = entry.metadata
        body = {"metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version, **changes}}
        try:
            await self._client.patch(entry.resource, metadata.name, body, namespace=metadata.namespace)
        except ApiError as error:
            if not error.is_missing:
                raise


class _Sink:
    """Forwards the objects of one reflector, with their resource."""

    def __init__(self, collector: GarbageCollector, resource: Resource[Any]) -> None:
        self._collector = collector
        self._resource = resource

    def apply(self, entry: TopLevel) -> None:
        self._collector.applied(OwnedObject(self._resource, entry.metadata))

    def remove(self, entry: TopLevel) -> None:
        self._collector.removed(OwnedObject(self._resource, entry.metadata))

    def unreadable(self, resource: Resource[Any], key: str, uid: str, problem: str) -> None:
        """An unreadable object has no known owners, and is kept."""
        _log.debug("unreadable object", extra={"resource": resource.name, "key": key, "problem": problem})
