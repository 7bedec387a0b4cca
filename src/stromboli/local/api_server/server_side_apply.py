"""The apply verb: create the object, or merge the configurations of its managers."""

from __future__ import annotations

from stromboli.local.api_server.clock import now
from stromboli.local.api_server.errors import Cause, StatusError, bad_request, details_of, invalid, modified, not_found
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object, Store, StoreEntry
from stromboli.local.api_server.versions import collection_of, served_form
from stromboli.local.api_server.write_options import WriteOptions
from stromboli.local.api_server.writes import Writes
from stromboli.local.http.calls import ApiCall
from stromboli.local.kinds.validation.metadata import check_kind, metadata_of
from stromboli.local.kinds.validation.stored_quantities import settle_amounts
from stromboli.local.kinds.validation.types import check_types
from stromboli.local.patching.apply import ApplyConflict, ApplyRejected, apply


class Applies:
    """Merges applied configurations into stored objects."""

    def __init__(self, store: Store, writes: Writes) -> None:
        self._store = store
        self._writes = writes

    def apply(
        self, resource: ServedResource, call: ApiCall, applied: Object, options: WriteOptions
    ) -> tuple[StoreEntry, bool]:
        """Return the object after the apply, and whether it is new."""
        _check(resource, call, applied)
        check_types(resource, applied)
        settle_amounts(resource, applied)
        collection = collection_of(self._store, resource)
        entry = collection.get((call.namespace, call.name))
        if entry is None:
            return self._created(resource, call, applied, options), True
        _check_identity(resource, entry, applied["metadata"])
        found = served_form(resource, collection, entry.body)
        result = _applied(resource, call, found, applied)
        if result is found:
            return entry, False
        return self._writes.update(resource, entry, result, options), False

    def _created(self, resource: ServedResource, call: ApiCall, applied: Object, options: WriteOptions) -> StoreEntry:
        if call.subresource or applied["metadata"].get("uid"):
            raise not_found(resource, call.name)
        applied["metadata"].pop("resourceVersion", None)
        return self._writes.create(resource, call.namespace, _applied(resource, call, None, applied), options)


def _check(resource: ServedResource, call: ApiCall, applied: Object) -> None:
    if not applied.get("kind") or not applied.get("apiVersion"):
        raise bad_request(f"invalid object type: {applied.get('apiVersion') or '/'}, Kind={applied.get('kind') or ''}")
    check_kind(resource, applied)
    metadata = metadata_of(applied)
    if metadata.setdefault("name", call.name) != call.name:
        raise bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({call.name})"
        )


def _check_identity(resource: ServedResource, entry: StoreEntry, metadata: Object) -> None:
    if metadata.get("resourceVersion") not in (None, "", entry.metadata["resourceVersion"]):
        raise modified(resource, entry.key[1])
    uid = metadata.get("uid")
    if uid not in (None, "", entry.metadata["uid"]):
        why = f'Invalid value: "{uid}": field is immutable'
        raise invalid(resource, entry.key[1], [Cause("FieldValueInvalid", why, "metadata.uid")])


def _applied(resource: ServedResource, call: ApiCall, found: Object | None, applied: Object) -> Object:
    manager, force = call.query["fieldManager"], call.flag("force")
    try:
        return apply(found, applied, manager, force, resource, now(), call.subresource)
    except ApplyRejected as error:
        raise bad_request(str(error)) from error
    except ApplyConflict as error:
        details = {**details_of(resource, call.name), "causes": error.causes}
        raise StatusError(409, "Conflict", str(error), details=details) from error
