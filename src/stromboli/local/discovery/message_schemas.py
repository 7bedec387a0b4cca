"""Schemas below the top level of built-in kinds, from their protobuf messages, with references to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from stromboli.local.discovery.object_schemas import OBJECT_META_NAME
from stromboli.local.protobuf.messages import FieldForm, message_of, messages

_PREFIX = "io.k8s.api."
_PLAIN: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "bytes": {"type": "string", "format": "byte"},
    "Quantity": {"type": "string"},
    "IntOrString": {"type": "string", "format": "int-or-string"},
    "RawJson": {"type": "object"},
    "Time": {"type": "string", "format": "date-time"},
    "MicroTime": {"type": "string", "format": "date-time"},
}


def fields_below(api_version: str, kind: str) -> dict[str, dict[str, Any]]:
    """The top-level fields of a kind with a known message, each with its schema; otherwise empty."""
    message = message_of(api_version, kind)
    if message is None:
        return {}
    return {name: schema for name, schema in _properties(message).items() if name != "metadata"}


def referred_schemas(kinds: Iterable[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """The schemas that these kinds, by version and kind, reference at any depth."""
    found: set[str] = set()
    for api_version, kind in kinds:
        message = message_of(api_version, kind)
        if message is not None:
            _collect(message, found)
    return {_PREFIX + name: {"type": "object", "properties": _properties(name)} for name in sorted(found)}


def _collect(message: str, found: set[str]) -> None:
    for form in messages()[message].values():
        if form.type not in _PLAIN and form.type != "ObjectMeta" and form.type not in found:
            found.add(form.type)
            _collect(form.type, found)


def _properties(message: str) -> dict[str, dict[str, Any]]:
    return dict(_fields(message))


def _fields(message: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for form in messages()[message].values():
        if form.name == "=":
            yield from _fields(form.type)
        else:
            yield form.name, _schema(form)


def _schema(form: FieldForm) -> dict[str, Any]:
    schema = _PLAIN.get(form.type) or _reference(form.type)
    if form.is_list:
        return {"type": "array", "items": schema}
    return {"type": "object", "additionalProperties": schema} if form.is_map else schema


def _reference(message: str) -> dict[str, Any]:
    name = OBJECT_META_NAME if message == "ObjectMeta" else _PREFIX + message
    return {"allOf": [{"$ref": f"#/components/schemas/{name}"}]}
