"""Server-side apply: a client declares fields of an object, and owns just those.

Changes of fields with another owner are conflicts, unless forced. Fields that the client applied before and no longer
declares are removed if they have no other owner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from stromboli.local.api_server.registry import ServedResource
from stromboli.local.patching.field_sets import Fields, Path, describe, leaves, list_elements
from stromboli.local.patching.managed_fields import (
    Manager,
    before_first_apply,
    ownable,
    read_managers,
    shape_of,
    with_identity,
    with_managers,
)
from stromboli.local.patching.owned_merge import merge, prune
from stromboli.local.patching.shapes import Shape

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KUBECTL = "kubectl"


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field with another owner that would change."""

    field: Path
    owner: Manager


class ApplyConflict(Exception):
    """The apply would change fields of other owners (409)."""

    def __init__(self, conflicts: list[Conflict]) -> None:
        self.conflicts = sorted(conflicts, key=lambda conflict: (str(conflict.owner), conflict.field))
        super().__init__(self._message())

    @property
    def causes(self) -> list[dict[str, str]]:
        """The conflicts as `details.causes`."""
        return [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {conflict.owner}",
                "field": describe(conflict.field),
            }
            for conflict in self.conflicts
        ]

    def _message(self) -> str:
        if len(self.conflicts) == 1:
            conflict = self.conflicts[0]
            return f"Apply failed with 1 conflict: conflict with {conflict.owner}: {describe(conflict.field)}"
        fields: dict[str, list[str]] = {}
        for conflict in self.conflicts:
            fields.setdefault(str(conflict.owner), []).append(f"- {describe(conflict.field)}")
        parts = [f"conflicts with {owner}:\n" + "\n".join(names) for owner, names in fields.items()]
        return f"Apply failed with {len(self.conflicts)} conflicts: " + "\n".join(parts)


class ApplyRejected(Exception):
    """A configuration that cannot be applied (400)."""


def apply(
    live: dict[str, Any] | None,
    applied: dict[str, Any],
    manager: str,
    force: bool,
    resource: ServedResource,
    now: str,
    subresource: str = "",
) -> dict[str, Any]:
    """Return the object after the apply: `live` itself if nothing changes. Raises `ApplyConflict`."""
    if (applied.get("metadata") or {}).get("managedFields") is not None:
        raise ApplyRejected("metadata.managedFields must be nil")
    wanted, shape = _applicable(applied, resource, subresource), shape_of(resource)
    problems = list(list_problems(wanted, shape))
    if problems:
        raise ApplyRejected("failed to create typed patch object: " + ", ".join(problems))
    fields = frozenset(leaves(ownable(wanted), shape)) - {()}
    applier = Manager(manager, "Apply", resource.api_version, fields, now, subresource)
    if live is None:
        return with_managers(wanted, [applier])
    others, former = _owners(live, applier, resource)
    others = _after_takeover(live, wanted, others, applier, force, shape)
    merged = prune(merge(live, wanted, shape), former - fields, _owned(others) | fields, shape)
    merged = _with_last_applied(with_identity(merged, live), applied, manager)
    stored = with_managers(merged, [*others, applier])
    is_unchanged = _content(stored) == _content(live) and _ownership(stored) == _ownership(live)
    return live if is_unchanged else stored  # timestamps of entries alone are no change


def _applicable(applied: dict[str, Any], resource: ServedResource, subresource: str) -> dict[str, Any]:
    """The part of the applied configuration that this subresource may write; null means absent."""
    wanted = _without_nulls(applied)
    if subresource == "status":
        return {name: field for name, field in wanted.items() if name in ("apiVersion", "kind", "metadata", "status")}
    if resource.status_subresource:
        wanted.pop("status", None)
    return wanted


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(field) for name, field in value.items() if field is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _owners(live: dict[str, Any], applier: Manager, resource: ServedResource) -> tuple[list[Manager], Fields]:
    """The other managers, and the fields that the applier owned so far."""
    managers = read_managers(live) or [before_first_apply(live, resource)]
    former = next((each.fields for each in managers if each.identity == applier.identity), frozenset())
    return [each for each in managers if each.identity != applier.identity], former


def _owned(managers: Iterable[Manager]) -> Fields:
    return frozenset().union(*(each.fields for each in managers))


def _after_takeover(
    live: dict[str, Any], wanted: dict[str, Any], others: list[Manager], applier: Manager, force: bool, shape: Shape
) -> list[Manager]:
    """The other managers without the fields that change. Raises ApplyConflict unless forced."""
    have, want = leaves(ownable(live), shape), leaves(ownable(wanted), shape)
    changes = frozenset(path for path, value in want.items() if path not in have or have[path] != value)
    conflicts = [Conflict(path, other) for other in others for path in other.fields & changes]
    if conflicts and not force and not _was_applied_by_client(live, conflicts, applier, shape):
        raise ApplyConflict(conflicts)
    return [replace(other, fields=other.fields - changes) for other in others]


def _was_applied_by_client(live: dict[str, Any], conflicts: list[Conflict], applier: Manager, shape: Shape) -> bool:
    """Report whether all conflicting fields come from a client-side apply, as its annotation records."""
    if applier.name != _KUBECTL:
        return False
    try:
        last = msgspec.json.decode(str(_annotations(live).get(_LAST_APPLIED, "")))
    except msgspec.DecodeError:
        return False
    if not isinstance(last, dict):
        return False
    remembered = leaves(ownable(last), shape).keys()
    return all(conflict.field in remembered for conflict in conflicts)


def _annotations(entry: dict[str, Any]) -> dict[str, Any]:
    return (entry.get("metadata") or {}).get("annotations") or {}


def _with_last_applied(merged: dict[str, Any], applied: dict[str, Any], manager: str) -> dict[str, Any]:
    """Update the annotation of client-side apply, if there is one, so that clients can return to it."""
    annotations = _annotations(merged)
    if manager != _KUBECTL or _LAST_APPLIED not in annotations:
        return merged
    text = msgspec.json.encode(applied).decode() + "\n"
    metadata = {**merged["metadata"], "annotations": {**annotations, _LAST_APPLIED: text}}
    return {**merged, "metadata": metadata}


def _content(entry: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: field for name, field in (entry.get("metadata") or {}).items() if name != "managedFields"}
    return {**entry, "metadata": metadata}


def _ownership(entry: dict[str, Any]) -> dict[tuple[str, str, str], Fields]:
    """The fields of each manager, without times."""
    return {each.identity: each.fields for each in read_managers(entry)}


def list_problems(value: Any, shape: Shape, path: Path = ()) -> Iterator[str]:
    """Describe items without a key and items with the same key."""
    if isinstance(value, dict):
        for name, field in value.items():
            yield from list_problems(field, shape.field(name), (*path, f"f:{name}"))
    elif isinstance(value, list) and (shape.keys or shape.is_set):
        yield from _items_without_keys(value, shape, path)
        elements = list_elements(value, shape)
        for name, count in Counter(name for name, _ in elements).items():
            if count > 1:
                yield f"{describe(path)}: duplicate entries for key {describe((name,))}"
        for name, item in elements:
            yield from list_problems(item, shape.item(), (*path, name))


def _items_without_keys(items: list[Any], shape: Shape, path: Path) -> Iterator[str]:
    for place, item in enumerate(items):
        if not shape.is_set and not isinstance(item, dict):
            yield f"{describe(path)}: element {place}: must be an object"
            continue
        for key in () if shape.is_set else shape.keys:
            if item.get(key, shape.key_default(key)) is None:
                yield f'{describe(path)}: element {place}: omits the key field "{key}" of its list'
