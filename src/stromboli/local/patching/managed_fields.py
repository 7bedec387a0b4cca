"""Field ownership: the entries of `metadata.managedFields`, and their changes by ordinary writes.

Objects that were never applied have no entries, which keeps the writes of controllers cheap; the first apply attributes
existing fields to one earlier manager.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from stromboli.local.api_server.registry import ServedResource
from stromboli.local.patching.field_sets import Fields, changed_fields, decode_fields, encode_fields, leaves
from stromboli.local.patching.shapes import BUILT_IN, SchemaShape, Shape

#: Client-side apply is recorded from the start: migrating it to the server side needs its fields.
CLIENT_SIDE_APPLY = "kubectl-client-side-apply"
BEFORE_FIRST_APPLY = "before-first-apply"

#: Fields of the server or of the object's identity, which have no owner.
_UNOWNED_METADATA = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)


@dataclass(frozen=True, slots=True)
class Manager:
    """One entry: the fields that a client owns by one operation."""

    name: str
    operation: str
    api_version: str
    fields: Fields
    time: str = ""
    subresource: str = ""

    @property
    def identity(self) -> tuple[str, str, str]:
        return (self.name, self.operation, self.subresource)

    def __str__(self) -> str:
        text = f'"{self.name}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        if self.operation == "Update":
            text += f" using {self.api_version}" + (f" at {self.time}" if self.time else "")
        return text


def shape_of(resource: ServedResource) -> Shape:
    """The shape of a kind; lists of a custom resource without a schema are atomic."""
    return SchemaShape(resource.schema or {}, is_root=True) if resource.is_custom else BUILT_IN


def ownable(entry: dict[str, Any]) -> dict[str, Any]:
    """The object without fields that have no owner."""
    metadata = {name: value for name, value in (entry.get("metadata") or {}).items() if name not in _UNOWNED_METADATA}
    rest = {name: value for name, value in entry.items() if name not in ("apiVersion", "kind", "metadata")}
    return {"metadata": metadata, **rest} if metadata else rest


def with_identity(entry: dict[str, Any], live: dict[str, Any]) -> dict[str, Any]:
    """The object with the server's own fields of its stored version."""
    metadata = {name: value for name, value in entry["metadata"].items() if name not in _UNOWNED_METADATA}
    kept = {name: value for name, value in live["metadata"].items() if name in _UNOWNED_METADATA}
    return {**entry, "metadata": {**metadata, **kept}}


def read_managers(entry: dict[str, Any]) -> list[Manager]:
    """The entries of an object; unreadable ones are left out."""
    written = (entry.get("metadata") or {}).get("managedFields")
    entries = written if isinstance(written, list) else []
    return [_read(each) for each in entries if isinstance(each, dict) and each.get("manager")]


def with_managers(entry: dict[str, Any], managers: Iterable[Manager]) -> dict[str, Any]:
    """The object with these entries, without empty ones."""
    owning = sorted((each for each in managers if each.fields), key=lambda each: (each.operation, each.time, each.name))
    metadata = {name: value for name, value in (entry.get("metadata") or {}).items() if name != "managedFields"}
    if owning:
        metadata["managedFields"] = [_write(each) for each in owning]
    return {**entry, "metadata": metadata}


def before_first_apply(live: dict[str, Any], resource: ServedResource) -> Manager:
    """Existing fields before the first record, without the status, which clients do not apply."""
    owned = ownable(live)
    if resource.status_subresource:
        owned.pop("status", None)
    fields = frozenset(leaves(owned, shape_of(resource))) - {()}
    time = (live.get("metadata") or {}).get("creationTimestamp", "")
    return Manager(BEFORE_FIRST_APPLY, "Update", resource.api_version, fields, time)


def record_update(
    old: dict[str, Any] | None, new: dict[str, Any], manager: str, subresource: str, resource: ServedResource, now: str
) -> dict[str, Any]:
    """`new` with its managers after a create, update or patch; `new` itself if nothing is recorded for the object.

    Entries sent by the writer replace the stored ones, so that ownership can be moved; absent entries are kept.
    """
    written = (new.get("metadata") or {}).get("managedFields")
    recorded = (old.get("metadata") or {}).get("managedFields") if old is not None else None
    if not written and not recorded and manager != CLIENT_SIDE_APPLY:
        return new
    if written == [{}]:
        return with_managers(new, ())
    managers = read_managers(new if written else old or {})
    shape = shape_of(resource)
    changed, gone = changed_fields(ownable(old or {}), ownable(new), shape)
    if changed or gone:
        writer = Manager(manager, "Update", resource.api_version, frozenset(), now, subresource)
        managers = _after_write(managers, changed - {()}, gone, writer)
    return with_managers(new, managers)


def _after_write(managers: list[Manager], changed: Fields, gone: Fields, writer: Manager) -> list[Manager]:
    """The writer becomes the only owner of the changed fields; removed fields have no owner."""
    own = next((each.fields for each in managers if each.identity == writer.identity), frozenset())
    others = [each for each in managers if each.identity != writer.identity]
    kept = [replace(each, fields=each.fields - changed - gone) for each in others]
    return [*kept, replace(writer, fields=(own - gone) | changed)]


def _read(entry: dict[str, Any]) -> Manager:
    return Manager(
        str(entry["manager"]),
        str(entry.get("operation", "Update")),
        str(entry.get("apiVersion", "")),
        decode_fields(entry.get("fieldsV1")),
        str(entry.get("time") or ""),
        str(entry.get("subresource") or ""),
    )


def _write(manager: Manager) -> dict[str, Any]:
    entry: dict[str, Any] = {"manager": manager.name, "operation": manager.operation, "apiVersion": manager.api_version}
    if manager.time:
        entry["time"] = manager.time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": encode_fields(manager.fields)}
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry
