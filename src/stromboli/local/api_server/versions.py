"""Stored and served forms: versions of a custom resource, and the two groups of events."""

from __future__ import annotations

from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Collection, Object, Store, StoreEntry, encode
from stromboli.local.kinds.events import EVENTS_GROUP, from_core_event, to_core_event


def collection_of(store: Store, resource: ServedResource) -> Collection:
    """The collection of a resource. Both groups of events share one."""
    group = "" if resource.group == EVENTS_GROUP else resource.group
    return store.collection(group, resource.plural)


def stored_form(resource: ServedResource, collection: Collection, body: Object) -> Object:
    """Convert an object from the served to the stored form."""
    if resource.api_version == collection.api_version:
        return body
    if resource.group == EVENTS_GROUP:
        return to_core_event(body)
    return {**body, "apiVersion": collection.api_version}


def served_form(resource: ServedResource, collection: Collection, body: Object) -> Object:
    """Convert an object from the stored to the served form."""
    if resource.api_version == collection.api_version:
        return body
    if resource.group == EVENTS_GROUP:
        return from_core_event(body)
    return {**body, "apiVersion": resource.api_version}


def served_bytes(resource: ServedResource, collection: Collection, entry: StoreEntry) -> bytes:
    if resource.api_version == collection.api_version:
        return entry.raw
    return encode(served_form(resource, collection, entry.body))
