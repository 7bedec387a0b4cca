"""Validation of a value by a structural OpenAPI schema, with the server's messages."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from stromboli.local.api_server.errors import Cause

Schema = dict[str, Any]
_INT_OR_STRING = "x-kubernetes-int-or-string"
_RANGES = {"int32": 2**31, "int64": 2**63}


def value_causes(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    """Validate a value and everything in it."""
    if value is None:
        if not schema.get("nullable") and schema.get("type"):
            yield _type_cause(schema, value, path)
        return
    if not _has_type(schema, value):
        yield _type_cause(schema, value, path)
        return
    yield from _enumeration(schema, value, path)
    if isinstance(value, str):
        yield from _text(schema, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(schema, value, path)
    elif isinstance(value, list):
        yield from _list(schema, value, path)
    elif isinstance(value, dict):
        yield from _map(schema, value, path)
    yield from _combinations(schema, value, path)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    ),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}


def _has_type(schema: Schema, value: Any) -> bool:
    if schema.get(_INT_OR_STRING):
        return isinstance(value, int | str) and not isinstance(value, bool)
    test = _TYPES.get(schema.get("type", ""))
    return test is None or test(value)


def _type_cause(schema: Schema, value: Any, path: str) -> Cause:
    wanted = "integer,string" if schema.get(_INT_OR_STRING) else schema.get("type", "")
    found = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    name = found.get(type(value), "null")
    message = f'Invalid value: "{name}": {path} in body must be of type {wanted}: "{name}"'
    return Cause("FieldValueTypeInvalid", message, path)


def _wrong(value: Any, path: str, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {_shown(value)}: {path} in body {why}", path)


def _shown(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _enumeration(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        listed = ", ".join(_shown(each) for each in allowed)
        yield Cause("FieldValueNotSupported", f"Unsupported value: {_shown(value)}: supported values: {listed}", path)


def _text(schema: Schema, value: str, path: str) -> Iterator[Cause]:
    least, most, pattern = schema.get("minLength"), schema.get("maxLength"), schema.get("pattern")
    if least is not None and len(value) < least:
        yield _wrong(value, path, f"should be at least {least} chars long")
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooLong", f"Too long: may not be more than {most} bytes", path)
    if pattern is not None and not _compiled(pattern).search(value):
        yield _wrong(value, path, f"should match '{pattern}'")
    if schema.get("format") == "date-time" and not _is_time(value):
        yield _wrong(value, path, "must be of type date-time")


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _is_time(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return "T" in text


def _number(schema: Schema, value: float, path: str) -> Iterator[Cause]:
    least, most, step = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    if least is not None and (value < least or (schema.get("exclusiveMinimum") and value == least)):
        yield _wrong(
            value, path, f"should be greater than {'' if schema.get('exclusiveMinimum') else 'or equal to '}{least}"
        )
    if most is not None and (value > most or (schema.get("exclusiveMaximum") and value == most)):
        yield _wrong(
            value, path, f"should be less than {'' if schema.get('exclusiveMaximum') else 'or equal to '}{most}"
        )
    if step and value % step:
        yield _wrong(value, path, f"should be a multiple of {step}")
    bound = _RANGES.get(schema.get("format", ""))
    if bound is not None and not -bound <= value < bound:
        yield _wrong(value, path, f"must be of type {schema['format']}")


def _list(schema: Schema, value: list[Any], path: str) -> Iterator[Cause]:
    least, most, items = schema.get("minItems"), schema.get("maxItems"), schema.get("items")
    if least is not None and len(value) < least:
        yield _wrong(len(value), path, f"should have at least {least} items")
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items", path)
    if isinstance(items, dict):
        for index, item in enumerate(value):
            yield from value_causes(items, item, f"{path}[{index}]")
    yield from _duplicates(schema, value, path)


def _duplicates(schema: Schema, value: list[Any], path: str) -> Iterator[Cause]:
    kind = schema.get("x-kubernetes-list-type", "set" if schema.get("uniqueItems") else "atomic")
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if kind == "atomic":
        return
    seen = []
    for index, item in enumerate(value):
        identity = {key: item.get(key) for key in keys} if kind == "map" and isinstance(item, dict) else item
        if identity in seen:
            yield Cause("FieldValueDuplicate", f"Duplicate value: {_shown(identity)}", f"{path}[{index}]")
        seen.append(identity)


def _map(schema: Schema, value: dict[str, Any], path: str) -> Iterator[Cause]:
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    for name in schema.get("required") or ():
        if name not in value:
            yield Cause("FieldValueRequired", "Required value", _below(path, name))
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        yield _wrong(len(value), path, f"should have at least {least} properties")
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items", path)
    for name, part in value.items():
        known = properties.get(name, others)
        if isinstance(known, dict):
            yield from value_causes(known, part, _below(path, name))


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _combinations(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    for each in schema.get("allOf") or ():
        yield from value_causes(each, value, path)
    if (choices := schema.get("anyOf")) and not any(_fits(choice, value) for choice in choices):
        yield _wrong(value, path, "must validate at least one schema (anyOf)")
    if (choices := schema.get("oneOf")) and sum(_fits(choice, value) for choice in choices) != 1:
        yield _wrong(value, path, "must validate one and only one schema (oneOf)")
    if "not" in schema and _fits(schema["not"], value):
        yield _wrong(value, path, "must not validate the schema (not)")


def _fits(schema: Schema, value: Any) -> bool:
    return next(value_causes(schema, value, ""), None) is None
