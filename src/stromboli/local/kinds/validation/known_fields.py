"""Fields of the built-in kinds, from `fields.txt`.

A paragraph of that file is a type and its fields. A field is its name, then `=` and the type of an object, `*` and the
type of list items, or `%` and the type of map values; without a type it is a scalar or not described. Types with
ambiguous names include group and version.

Inputs are never changed; results share unchanged parts with them.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object

PLACE = Path(__file__).with_name("fields.txt")
OBJECT, LIST, MAP, PLAIN = "=", "*", "%", ""
_FIELD = re.compile(r"([^=*%]+)([=*%]?)(.*)")
Fields = dict[str, tuple[str, "Fields | None"]]
"""The form of each field, and the fields below it if they are described."""


@cache
def _types() -> dict[str, Fields]:
    lines = re.sub(r"\n ", " ", PLACE.read_text("utf-8")).splitlines()
    paragraphs = dict(line.split(":", 1) for line in lines if not line.startswith("#"))
    types: dict[str, Fields] = {name: {} for name in paragraphs}
    for name, fields in paragraphs.items():
        for text in fields.split():
            field, form, below = _FIELD.findall(text)[0]
            types[name][field] = (form, types.get(below))
    return types


@cache
def fields_of(group: str, version: str, kind: str) -> Fields | None:
    """The fields of a kind; None if it is not in the table."""
    package = group.partition(".")[0] or "core"
    types = _types()
    return types.get(f"{package}.{version}.{kind}", types.get(kind))


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
        known = _known(_types()["ObjectMeta"], metadata, "metadata.", unknown)
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
