"""Deletion of namespaces and definitions: they are removed after their contents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from stromboli.local.api_server.deletion import DeleteOptions, Deletion
from stromboli.local.api_server.registry import KindRegistry, ServedResource
from stromboli.local.api_server.store import Store, StoreEntry
from stromboli.local.api_server.versions import collection_of
from stromboli.local.api_server.write_options import WriteOptions
from stromboli.local.api_server.writes import Writes
from stromboli.local.kinds.custom_resources.strategies import CLEANUP, CRD_GROUP

NAMESPACE_GRACE_SECONDS = 2.0
"""How long the contents of a deleted namespace stay, so that clients can delete them as well: Kubernetes waits 5 s."""
_BACKGROUND = DeleteOptions(propagation="Background")


class Termination:
    """The namespace controller, and the finalizer of CustomResourceDefinitions."""

    def __init__(self, store: Store, registry: KindRegistry, writes: Writes, deletion: Deletion, grace: float) -> None:
        self._store = store
        self._grace = grace
        self._registry = registry
        self._writes = writes
        self._deletion = deletion
        #: Namespaces and definitions being deleted, so that other removals cost nothing.
        self._namespaces: set[str] = set()
        self._definitions: set[str] = set()

    def begin(self, resource: ServedResource, entry: StoreEntry) -> None:
        """Delete the contents of a namespace or definition whose deletion was requested."""
        if "deletionTimestamp" not in entry.metadata:
            return
        if (resource.group, resource.plural) == ("", "namespaces"):
            self._begin_namespace(entry)
        elif resource.group == CRD_GROUP:
            self._definitions.add(entry.key[1])
            self._empty(self._of_definition(entry))
            self._finish_definition(entry.key[1])

    def _begin_namespace(self, entry: StoreEntry) -> None:
        self._namespaces.add(entry.key[1])
        if self._grace:
            asyncio.get_running_loop().call_later(self._grace, self._empty_namespace, entry)
        else:
            self._empty_namespace(entry)
        self._finish_namespace(entry.key[1])

    def _empty_namespace(self, deleted: StoreEntry) -> None:
        name = deleted.key[1]
        found = self._store.collection("", "namespaces").get(deleted.key)
        if found is not None and found.metadata["uid"] == deleted.metadata["uid"]:
            self._empty(self._in_namespace(name))
            self._finish_namespace(name)

    def after_removal(self, resource: ServedResource, namespace: str) -> None:
        """Complete a pending deletion if this was the last object in it."""
        if namespace in self._namespaces:
            self._finish_namespace(namespace)
        if resource.is_custom and resource.name in self._definitions:
            self._finish_definition(resource.name)

    def _empty(self, contents: Iterator[tuple[ServedResource, StoreEntry]]) -> None:
        for resource, entry in list(contents):
            if collection_of(self._store, resource).get(entry.key) is not None:
                self._deletion.delete(resource, entry, _BACKGROUND)

    def _in_namespace(self, namespace: str) -> Iterator[tuple[ServedResource, StoreEntry]]:
        for resource in _one_version_each(self._registry):
            if resource.namespaced and "delete" in resource.verbs:
                for entry in collection_of(self._store, resource).entries(namespace):
                    yield resource, entry

    def _of_definition(self, definition: StoreEntry) -> Iterator[tuple[ServedResource, StoreEntry]]:
        spec = definition.body["spec"]
        resource = self._registry.of_kind(spec["group"], spec["names"]["kind"])
        if resource is not None:
            for entry in collection_of(self._store, resource).entries():
                yield resource, entry

    def _finish_namespace(self, name: str) -> None:
        if name not in self._namespaces or next(self._in_namespace(name), None) is not None:
            return
        self._namespaces.discard(name)
        resource = self._registry.named("", "v1", "namespaces")
        entry = self._writes.existing(resource, "", name)
        spec = {**entry.body["spec"], "finalizers": []}
        body = {**entry.body, "metadata": dict(entry.metadata), "spec": spec}
        self._writes.store_marked(resource, entry, body, WriteOptions())

    def _finish_definition(self, name: str) -> None:
        if name not in self._definitions:
            return
        resource = self._registry.named(CRD_GROUP, "v1", "customresourcedefinitions")
        entry = self._writes.existing(resource, "", name)
        if next(self._of_definition(entry), None) is not None:
            return
        self._definitions.discard(name)
        finalizers = [each for each in entry.metadata.get("finalizers") or () if each != CLEANUP]
        body = {**entry.body, "metadata": {**entry.metadata, "finalizers": finalizers}}
        self._writes.replace(resource, entry, body, WriteOptions())


def _one_version_each(registry: KindRegistry) -> Iterator[ServedResource]:
    seen = set()
    for resource in registry:
        if (resource.group, resource.plural) not in seen:
            seen.add((resource.group, resource.plural))
            yield resource
