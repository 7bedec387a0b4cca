"""Structural schemas: a server rejects definitions whose schemas are not structural."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stromboli.local.api_server.errors import Cause

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_INT_OR_STRING = "x-kubernetes-int-or-string"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_CHOICES = ("allOf", "anyOf", "oneOf")
#: Keywords that describe a field; alternatives may only restrict what is described outside of them.
_DESCRIBING = ("type", "default", "nullable", "additionalProperties", "description", "title")


def places_of_rules(schema: dict[str, Any], place: str = "") -> Iterator[str]:
    """Paths of CEL rules in a schema."""
    if schema.get("x-kubernetes-validations"):
        yield place
    for name, below in (schema.get("properties") or {}).items():
        yield from places_of_rules(below, f"{place}.properties[{name}]")
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), dict):
            yield from places_of_rules(schema[part], f"{place}.{part}")


def structural_causes(schema: Any, field: str) -> Iterator[Cause]:
    """Find everything that makes a schema non-structural, at any depth."""
    if not isinstance(schema, dict):
        yield Cause("FieldValueInvalid", "Invalid value: must be a schema", field)
        return
    if "$ref" in schema:
        yield Cause("FieldValueForbidden", "Forbidden: $ref is not supported", f"{field}.$ref")
        return
    yield from _type_causes(schema, field)
    yield from _pattern_causes(schema, field)
    yield from _choice_causes(schema, field)
    for name, below in (schema.get("properties") or {}).items():
        yield from structural_causes(below, f"{field}.properties[{name}]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from structural_causes(schema["additionalProperties"], f"{field}.additionalProperties")
    if "items" in schema:
        yield from structural_causes(schema["items"], f"{field}.items")


def _type_causes(schema: dict[str, Any], field: str) -> Iterator[Cause]:
    found = schema.get("type")
    if found is None:
        if not schema.get(_INT_OR_STRING) and not schema.get(_PRESERVE):
            why = "Required value: must not be empty for specified object fields"
            yield Cause("FieldValueRequired", why, f"{field}.type")
    elif found not in _TYPES:
        listed = ", ".join(f'"{each}"' for each in _TYPES)
        why = f'Unsupported value: "{found}": supported values: {listed}'
        yield Cause("FieldValueNotSupported", why, f"{field}.type")
    if found == "array" and "items" not in schema:
        yield Cause("FieldValueRequired", "Required value: must be specified", f"{field}.items")
    if schema.get("properties") and "additionalProperties" in schema:
        why = "Forbidden: additionalProperties and properties are mutual exclusive"
        yield Cause("FieldValueForbidden", why, f"{field}.additionalProperties")


def _pattern_causes(schema: dict[str, Any], field: str) -> Iterator[Cause]:
    try:
        re.compile(schema.get("pattern") or "")
    except re.error as error:
        why = f'Invalid value: "{schema["pattern"]}": must be a valid regular expression, but isn\'t: {error}'
        yield Cause("FieldValueInvalid", why, f"{field}.pattern")


def _choice_causes(schema: dict[str, Any], field: str) -> Iterator[Cause]:
    choices = [(f"{field}.{name}[{i}]", each) for name in _CHOICES for i, each in enumerate(schema.get(name) or ())]
    if "not" in schema:
        choices.append((f"{field}.not", schema["not"]))
    for place, choice in choices:
        for name in _DESCRIBING:
            if isinstance(choice, dict) and name in choice and not schema.get(_INT_OR_STRING):
                yield Cause("FieldValueForbidden", "Forbidden: must be empty to be structural", f"{place}.{name}")
