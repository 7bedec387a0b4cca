"""Representations of objects: whole, metadata only, or rows of a table."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

from stromboli.local.api_server.errors import bad_request, not_acceptable
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Collection, StoreChange, StoreEntry, encode, event_line
from stromboli.local.api_server.versions import served_bytes, served_form
from stromboli.local.discovery.tables import table, wants_table

ListMetadata = dict[str, Any]
#: Media types of an `Accept` header; clients that prefer protobuf get JSON too.
_WRITTEN = ("application/json", "*/*", "application/*", "application/yaml", "application/vnd.kubernetes.protobuf")
_INCLUDED = ("", "Metadata", "Object", "None")


class WholeForm:
    """Whole objects. They were encoded when they were written and are only joined here."""

    def __init__(self, resource: ServedResource, collection: Collection) -> None:
        self.resource = resource
        self.collection = collection
        self._is_stored_form = resource.api_version == collection.api_version

    def one(self, entry: StoreEntry) -> bytes:
        return served_bytes(self.resource, self.collection, entry)

    def many(self, entries: Iterable[StoreEntry], metadata: ListMetadata) -> bytes:
        items = b",".join(self._item(entry) for entry in entries)
        head = encode({"apiVersion": self.resource.api_version, "kind": self.resource.list_kind, "metadata": metadata})
        return head[:-1] + b',"items":[' + items + b"]}"

    def _item(self, entry: StoreEntry) -> bytes:
        """Items of a built-in kind's list have no apiVersion and kind."""
        raw = self.one(entry)
        if self.resource.is_custom:
            return raw
        return b"{" + raw[raw.index(b'"metadata":{') :]

    def event(self, type_: str, change: StoreChange, entry: StoreEntry) -> bytes:
        if self._is_stored_form and type_ == change.type and entry is change.entry:
            return change.line
        return event_line(type_, self.one(entry))

    def initial(self, entry: StoreEntry) -> bytes:
        """An object that existed before the watch started."""
        return event_line("ADDED", self.one(entry))

    def bookmark(self, version: int, *, initial_events_end: bool = False) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(version), "creationTimestamp": None}
        if initial_events_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        body = {"kind": self.resource.kind, "apiVersion": self.resource.api_version, "metadata": metadata}
        return event_line("BOOKMARK", encode(body))


class MetadataForm(WholeForm):
    """Metadata only."""

    def one(self, entry: StoreEntry) -> bytes:
        body = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": entry.metadata}
        return encode(body)

    def many(self, entries: Iterable[StoreEntry], metadata: ListMetadata) -> bytes:
        head = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": metadata}
        return encode(head)[:-1] + b',"items":[' + b",".join(self.one(entry) for entry in entries) + b"]}"

    def event(self, type_: str, change: StoreChange, entry: StoreEntry) -> bytes:
        return event_line(type_, self.one(entry))


class TableForm(WholeForm):
    """Table rows. A watch sends the column definitions with its first event only."""

    def __init__(self, resource: ServedResource, collection: Collection, include_object: str) -> None:
        super().__init__(resource, collection)
        self._include_object = include_object or "Metadata"
        self._with_columns = True

    def _table(self, entries: Iterable[StoreEntry], metadata: ListMetadata) -> bytes:
        bodies = [served_form(self.resource, self.collection, entry.body) for entry in entries]
        document = table(
            self.resource,
            bodies,
            now=datetime.datetime.now(datetime.UTC),
            include_object=self._include_object,
            with_columns=self._with_columns,
            metadata=metadata,
        )
        return encode(document)

    def one(self, entry: StoreEntry) -> bytes:
        return self._table([entry], {"resourceVersion": str(entry.version)})

    def many(self, entries: Iterable[StoreEntry], metadata: ListMetadata) -> bytes:
        return self._table(entries, metadata)

    def event(self, type_: str, change: StoreChange, entry: StoreEntry) -> bytes:
        return self._event(type_, entry)

    def initial(self, entry: StoreEntry) -> bytes:
        return self._event("ADDED", entry)

    def _event(self, type_: str, entry: StoreEntry) -> bytes:
        line = event_line(type_, self.one(entry))
        self._with_columns = False
        return line


def form_of(resource: ServedResource, collection: Collection, accept: str, include_object: str) -> WholeForm:
    """The representation that the `Accept` header requests."""
    if accept and not any(kind in accept for kind in _WRITTEN):
        raise not_acceptable()
    if include_object not in _INCLUDED:
        why = f"""Invalid value: "{include_object}": must be 'Metadata', 'Object', 'None', or empty"""
        raise bad_request(f"Unable to convert to Table as requested: includeObject: {why}")
    if "as=" in accept:
        if wants_table(accept):
            return TableForm(resource, collection, include_object)
        if "as=PartialObjectMetadata" in accept.partition(",")[0]:
            return MetadataForm(resource, collection)
    return WholeForm(resource, collection)
