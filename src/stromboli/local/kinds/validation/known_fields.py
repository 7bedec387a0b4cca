"""Unknown fields of built-in kinds are dropped.

Inputs are never changed; results share unchanged parts with them.
"""

from __future__ import annotations

from typing import Any

from stromboli.kube.fields.built_in import LIST, MAP, OBJECT, Fields, field_types, fields_of
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object


def known_part(resource: ServedResource, body: Object, before: Object | None, unknown: list[str]) -> None:
    """Remove unknown fields from the body and collect their paths; empty lists and maps are removed as well.

    Parts that are identical to the previous version were checked then.
    """
    fields = fields_of(resource.group, resource.version, resource.kind)
    if fields is None:
        return
    changed = body if before is None else {key: part for key, part in body.items() if before.get(key) is not part}
    known = _known(fields, changed, "", unknown)
    if known is not changed:
        for key in changed.keys() - known.keys():
            del body[key]
        body.update(known)


def unknown_metadata(body: Object) -> list[str]:
    """Unknown metadata fields of a custom resource."""
    unknown: list[str] = []
    metadata = body.get("metadata")
    if isinstance(metadata, dict):
        known = _known(field_types()["ObjectMeta"], metadata, "metadata.", unknown)
        if known is not metadata:
            body["metadata"] = known
    return unknown


def _known(fields: Fields, value: Object, path: str, unknown: list[str]) -> Object:
    replaced: Object = {}
    lost: list[str] = []
    for key, part in value.items():
        form = fields.get(key)
        if form is None:
            unknown.append(path + key)
            lost.append(key)
        elif form[0] and part is not None:
            kept = _known_field(form[0], form[1], part, path + key, unknown)
            if kept is None:
                lost.append(key)
            elif kept is not part:
                replaced[key] = kept
    if not replaced and not lost:
        return value
    return {key: replaced.get(key, part) for key, part in value.items() if key not in lost}


def _known_field(form: str, below: Fields | None, part: Any, path: str, unknown: list[str]) -> Any:
    """None if nothing is left of the field."""
    if form == OBJECT:
        return _known(below, part, f"{path}.", unknown) if below is not None and isinstance(part, dict) else part
    if not part:
        return None
    if below is None:
        return part
    if form == LIST and isinstance(part, list):
        return _known_items(below, part, path, unknown)
    if form == MAP and isinstance(part, dict):
        return _known_values(below, part, path, unknown)
    return part


def _known_items(below: Fields, items: list[Any], path: str, unknown: list[str]) -> list[Any]:
    kept = [
        _known(below, item, f"{path}[{index}].", unknown) if isinstance(item, dict) else item
        for index, item in enumerate(items)
    ]
    return items if all(new is old for new, old in zip(kept, items, strict=True)) else kept


def _known_values(below: Fields, values: Object, path: str, unknown: list[str]) -> Object:
    kept = {
        key: _known(below, value, f"{path}.{key}.", unknown) if isinstance(value, dict) else value
        for key, value in values.items()
    }
    return values if all(kept[key] is values[key] for key in values) else kept
