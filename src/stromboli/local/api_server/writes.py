"""Creation and update of objects: the rules of all kinds.

Every write is one step of the event loop, so that it is decided on the version that it replaces.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable

from stromboli.local.api_server.clock import now
from stromboli.local.api_server.errors import (
    Cause,
    StatusError,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    modified,
    not_found,
    version_missing,
)
from stromboli.local.api_server.field_validation import drop_unknown_fields
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Collection, Key, Object, Store, StoreEntry
from stromboli.local.api_server.versions import collection_of, stored_form
from stromboli.local.api_server.write_options import WriteOptions
from stromboli.local.kinds.strategies import KindStrategy, Strategies
from stromboli.local.kinds.validation.field_errors import wrong
from stromboli.local.kinds.validation.metadata import check_kind, metadata_causes, metadata_of, ordered
from stromboli.local.kinds.validation.stored_quantities import settle_amounts
from stromboli.local.kinds.validation.types import check_types
from stromboli.local.patching.managed_fields import record_update

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_NAME_LIMIT = 63
#: Fields that only the server sets; other values are ignored.
_SERVER_SIDE = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink")


class Writes:
    """Validates objects by the rules of their kinds, and stores them."""

    def __init__(self, store: Store, strategies: Strategies) -> None:
        self._store = store
        self._strategies = strategies
        #: Called with resource and namespace of every removed object.
        self.after_removal: Callable[[ServedResource, str], None] = lambda resource, namespace: None

    def create(self, resource: ServedResource, namespace: str, body: Object, options: WriteOptions) -> StoreEntry:
        """Store a new object. The body is taken over."""
        check_kind(resource, body)
        collection, strategy = collection_of(self._store, resource), self._strategies(resource)
        check_types(resource, body)
        settle_amounts(resource, body)
        drop_unknown_fields(resource, body, None, options)
        key = self._begin(resource, namespace, body, options)
        strategy.default(resource, body)
        strategy.start_status(resource, body)
        _refuse_invalid(resource, strategy, body)
        self._check_namespace(resource, namespace, key[1])
        strategy.protect(resource, body)
        strategy.admit(resource, body)
        options.warnings.extend(strategy.warnings(resource, body))
        if collection.get(key) is not None:
            raise already_exists(resource, key[1])
        body = ordered(stored_form(resource, collection, _recorded(resource, None, body, options)))
        if options.dry_run:
            return StoreEntry(key, body, self._store.version)
        entry = self._store.put(collection, key, body)
        strategy.written(resource, entry, None)
        return entry

    def _begin(self, resource: ServedResource, namespace: str, body: Object, options: WriteOptions) -> Key:
        """Set the identity of a new object."""
        metadata = body["metadata"] = _without_empty(metadata_of(body))
        if metadata.get("resourceVersion"):
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        _settle_namespace(resource, namespace, metadata)
        for name in (*_SERVER_SIDE, "resourceVersion"):
            metadata.pop(name, None)
        if not options.is_applied:
            metadata.pop("managedFields", None)
        if not metadata.get("name") and metadata.get("generateName"):
            collection = collection_of(self._store, resource)
            metadata["name"] = _unused_name(collection, namespace, metadata["generateName"])
        metadata["uid"] = str(uuid.uuid4())
        metadata["creationTimestamp"] = now()
        if self._strategies(resource).counts_generations(resource):
            metadata["generation"] = 1
        return namespace, str(metadata.get("name") or "")

    def _check_namespace(self, resource: ServedResource, namespace: str, name: str) -> None:
        if not resource.namespaced:
            return
        found = self._store.collection("", "namespaces").get(("", namespace))
        if found is None:
            details = {"name": namespace, "kind": "namespaces"}
            raise StatusError(404, "NotFound", f'namespaces "{namespace}" not found', details=details)
        if "deletionTimestamp" in found.metadata:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
            raise forbidden(resource, name, why, [cause])

    def existing(self, resource: ServedResource, namespace: str, name: str) -> StoreEntry:
        entry = collection_of(self._store, resource).get((namespace, name))
        if entry is None:
            raise not_found(resource, name)
        return entry

    def update(self, resource: ServedResource, entry: StoreEntry, body: Object, options: WriteOptions) -> StoreEntry:
        """Replace an object; parts outside of the written subresource are kept."""
        check_kind(resource, body)
        metadata = body["metadata"] = dict(metadata_of(body))
        _settle_namespace(resource, entry.key[0], metadata)
        if metadata.setdefault("name", entry.key[1]) != entry.key[1]:
            raise bad_request(
                f"the name of the object ({metadata['name']}) does not match the name on the URL ({entry.key[1]})"
            )
        check_types(resource, body)
        settle_amounts(resource, body)
        drop_unknown_fields(resource, body, entry.body, options)
        strategy = self._strategies(resource)
        _check_identity(resource, entry, metadata, options)
        _check_version(resource, strategy, entry, metadata)
        _check_departure(resource, entry, metadata)
        collection = collection_of(self._store, resource)
        return self.replace(resource, entry, stored_form(resource, collection, body), options)

    def replace(self, resource: ServedResource, entry: StoreEntry, body: Object, options: WriteOptions) -> StoreEntry:
        """Store the next version of an object, in stored form; an unchanged object is not written."""
        strategy, old = self._strategies(resource), entry.body
        body = strategy.touch(resource, old, body, options.subresource)
        body = ordered({**body, "metadata": _kept_metadata(entry.metadata, body["metadata"])})
        if _validates_fields(resource, options):
            strategy.default(resource, body)
        body = _recorded(resource, old, body, options)
        if strategy.counts_generations(resource) and strategy.is_next_generation(resource, old, body):
            body["metadata"]["generation"] = entry.metadata.get("generation", 0) + 1
        if body == old:
            return entry
        self._check_next(resource, entry, body, options)
        options.warnings.extend(strategy.warnings(resource, body))
        return self.store_marked(resource, entry, body, options)

    def _check_next(self, resource: ServedResource, entry: StoreEntry, body: Object, options: WriteOptions) -> None:
        """Validate the next version. Parts of the previous version were validated then."""
        strategy, metadata = self._strategies(resource), body["metadata"]
        causes: list[Cause] = []
        if metadata != entry.metadata:
            causes += metadata_causes(metadata, free_names=strategy.free_names, is_custom=resource.is_custom)
            causes += _finalizer_causes(entry.metadata, metadata)
        if _validates_fields(resource, options):
            causes += strategy.check(resource, body)
            causes += strategy.check_change(resource, entry.body, body, options.subresource)
        if causes:
            raise invalid(resource, entry.key[1], causes)

    def store_marked(
        self, resource: ServedResource, entry: StoreEntry, body: Object, options: WriteOptions
    ) -> StoreEntry:
        """Store a validated body; remove it if its deletion waited only for this write."""
        if options.dry_run:
            return StoreEntry(entry.key, body, entry.version)
        if self.is_finished(resource, body):
            return self.remove(resource, entry, body)
        collection = collection_of(self._store, resource)
        stored = self._store.put(collection, entry.key, body)
        self._strategies(resource).written(resource, stored, entry)
        return stored

    def mark(self, resource: ServedResource, entry: StoreEntry, body: Object) -> StoreEntry:
        """Store a version that is being deleted, for watches."""
        marked = {**body, "metadata": dict(body["metadata"])}
        return self._store.put(collection_of(self._store, resource), entry.key, marked)

    def remove(self, resource: ServedResource, entry: StoreEntry, body: Object | None = None) -> StoreEntry:
        """Remove the object at once."""
        gone = self._store.remove(collection_of(self._store, resource), entry, body)
        self._strategies(resource).removed(resource, gone)
        self.after_removal(resource, entry.key[0])
        return gone

    def is_finished(self, resource: ServedResource, body: Object) -> bool:
        """Report whether a deletion is complete: requested, and without finalizers or grace period left."""
        metadata = body["metadata"]
        return (
            "deletionTimestamp" in metadata
            and not metadata.get("finalizers")
            and not metadata.get("deletionGracePeriodSeconds")
            and not self._strategies(resource).holds_back(body)
        )


def _validates_fields(resource: ServedResource, options: WriteOptions) -> bool:
    """Report whether the write is validated: status updates only for custom resources."""
    return resource.is_custom or options.subresource != "status"


def _recorded(resource: ServedResource, old: Object | None, new: Object, options: WriteOptions) -> Object:
    """The object with its managed fields updated, if they are recorded."""
    if options.is_applied or new == old:
        return new
    return record_update(old, new, options.manager, options.subresource, resource, now())


def _settle_namespace(resource: ServedResource, namespace: str, metadata: Object) -> None:
    if not resource.namespaced:
        metadata.pop("namespace", None)
    elif metadata.setdefault("namespace", namespace) != namespace:
        if metadata["namespace"]:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        metadata["namespace"] = namespace


def _unused_name(collection: Collection, namespace: str, prefix: str) -> str:
    prefix = prefix[: _NAME_LIMIT - 5]
    while True:
        name = prefix + "".join(secrets.choice(_SUFFIX_LETTERS) for _ in range(5))
        if collection.get((namespace, name)) is None:
            return name


def _refuse_invalid(resource: ServedResource, strategy: KindStrategy, body: Object) -> None:
    metadata = body["metadata"]
    causes = [
        *metadata_causes(metadata, free_names=strategy.free_names, is_custom=resource.is_custom),
        *strategy.check(resource, body),
    ]
    if causes:
        raise invalid(resource, metadata.get("name") or "", causes)


def _check_version(resource: ServedResource, strategy: KindStrategy, entry: StoreEntry, metadata: Object) -> None:
    wanted = metadata.get("resourceVersion")
    name = entry.key[1]
    if not wanted and not strategy.unconditional_update:
        raise version_missing(resource, name)
    if wanted and wanted != str(entry.version):
        raise modified(resource, name)


def _check_identity(resource: ServedResource, entry: StoreEntry, metadata: Object, options: WriteOptions) -> None:
    """Neither an update nor a patch changes the identity; status updates of custom resources ignore metadata."""
    uid, name = metadata.get("uid"), entry.key[1]
    if not uid or uid == entry.metadata["uid"]:
        return
    if not options.is_patched:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {entry.metadata['uid']}"
        raise conflict(resource, name, why)
    if resource.is_custom and options.subresource == "status":
        return
    if metadata.get("resourceVersion") not in (None, "", str(entry.version)):
        raise modified(resource, name)
    raise invalid(resource, name, [wrong("metadata.uid", uid, "field is immutable")])


def _check_departure(resource: ServedResource, entry: StoreEntry, metadata: Object) -> None:
    """The deletion timestamp cannot be set by an update."""
    if causes := [
        wrong(f"metadata.{field}", value, "field is immutable")
        for field in ("deletionTimestamp", "deletionGracePeriodSeconds")
        if (value := metadata.get(field)) is not None and value != entry.metadata.get(field)
    ]:
        raise invalid(resource, entry.key[1], causes)


def _kept_metadata(old: Object, new: Object) -> Object:
    """The new metadata with the server's own fields unchanged."""
    kept = {key: value for key, value in _without_empty(new).items() if key not in _SERVER_SIDE}
    kept.update({key: old[key] for key in _SERVER_SIDE if key in old})
    kept["resourceVersion"] = old["resourceVersion"]
    return kept


def _without_empty(metadata: Object) -> Object:
    """Drop empty labels, annotations and lists."""
    return {key: value for key, value in metadata.items() if value not in ({}, [], None, "")}


def _finalizer_causes(old: Object, new: Object) -> list[Cause]:
    """An object that is being deleted accepts no new finalizers."""
    added = set(new.get("finalizers") or ()) - set(old.get("finalizers") or ())
    if not added or "deletionTimestamp" not in old:
        return []
    rule = "no new finalizers can be added if the object is being deleted"
    why = f"Forbidden: {rule}, found new finalizers {sorted(added)}"
    return [Cause("FieldValueForbidden", why, "metadata.finalizers")]
