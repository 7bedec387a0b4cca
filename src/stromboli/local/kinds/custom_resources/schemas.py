"""Structural schemas of custom resources: pruning, defaulting and validation.

Inputs are never changed; results share unchanged parts with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stromboli.local.api_server.errors import Cause
from stromboli.local.kinds.custom_resources.schema_validation import value_causes

Schema = dict[str, Any]
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
#: Fields of every object, independent of its schema.
_HEAD = ("apiVersion", "kind", "metadata")


def pruned(schema: Schema, body: dict[str, Any]) -> dict[str, Any]:
    """Remove fields that are not in the schema."""
    head = {key: body[key] for key in _HEAD if key in body}
    rest = {key: value for key, value in body.items() if key not in _HEAD}
    return {**head, **_prune(schema, rest)}


def _prune(schema: Schema, value: Any) -> Any:
    if isinstance(value, list):
        items = schema.get("items")
        return [_prune(items, item) for item in value] if isinstance(items, dict) else value
    if not isinstance(value, dict):
        return value
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    kept = {}
    for key, part in value.items():
        if key in properties:
            kept[key] = _prune(properties[key], part)
        elif isinstance(others, dict):
            kept[key] = _prune(others, part)
        elif others is True or schema.get(_PRESERVE) or (schema.get(_EMBEDDED) and key in _HEAD):
            kept[key] = part
    return kept


def unknown_fields(schema: Schema, body: dict[str, Any]) -> Iterator[str]:
    """Paths that pruning removes."""
    rest = {key: value for key, value in body.items() if key not in _HEAD}
    yield from _lost(rest, _prune(schema, rest), "")


def _lost(before: Any, after: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key, part in before.items():
            here = f"{path}.{key}" if path else key
            if key not in after:
                yield here
            else:
                yield from _lost(part, after[key], here)
    elif isinstance(before, list) and isinstance(after, list):
        for index, (part, kept) in enumerate(zip(before, after, strict=True)):
            yield from _lost(part, kept, f"{path}[{index}]")


def defaulted(schema: Schema, value: Any) -> Any:
    """Set the defaults of absent fields, and of null fields that are not nullable.

    A null that is not allowed and has no default counts as absent.
    """
    if isinstance(value, list):
        items = schema.get("items")
        return [defaulted(items, item) for item in value] if isinstance(items, dict) else value
    if not isinstance(value, dict):
        return value
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    complete = {}
    for key, part in value.items():
        known = properties.get(key, others)
        if part is None and isinstance(known, dict) and not known.get("nullable"):
            if "default" not in known:
                continue
            part = known["default"]
        complete[key] = defaulted(known, part) if isinstance(known, dict) and key != "metadata" else part
    for key, known in properties.items():
        if key not in value and "default" in known:
            complete[key] = defaulted(known, known["default"])
    return complete


def schema_causes(schema: Schema, body: dict[str, Any]) -> Iterator[Cause]:
    """Validate an object by its schema."""
    rest = {key: value for key, value in body.items() if key != "metadata"}
    yield from value_causes(
        {**schema, "required": [r for r in schema.get("required") or () if r != "metadata"]}, rest, ""
    )
