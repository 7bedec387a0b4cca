"""One stored form, several served forms: the versions of a custom resource, and the two groups that serve events."""

from __future__ import annotations

from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Collection, Object, Store, StoreEntry, encode
from stromboli.local.kinds.events_api import EVENTS_GROUP, from_core_event, to_core_event


def collection_of(store: Store, resource: ServedResource) -> Collection:
    """Where objects of the resource are kept. Events of both groups are the same objects."""
    group = "" if resource.group == EVENTS_GROUP else resource.group
    return store.collection(group, resource.plural)


def stored_form(resource: ServedResource, collection: Collection, body: Object) -> Object:
    """An object as a caller sent it, in the form in which it is kept."""
    if resource.api_version == collection.api_version:
        return body
    if resource.group == EVENTS_GROUP:
        return to_core_event(body)
    return {**body, "apiVersion": collection.api_version}


def served_form(resource: ServedResource, collection: Collection, body: Object) -> Object:
    """A kept object as this resource shows it."""
    if resource.api_version == collection.api_version:
        return body
    if resource.group == EVENTS_GROUP:
        return from_core_event(body)
    return {**body, "apiVersion": resource.api_version}


def served_bytes(resource: ServedResource, collection: Collection, entry: StoreEntry) -> bytes:
    if resource.api_version == collection.api_version:
        return entry.raw
    return encode(served_form(resource, collection, entry.body))
