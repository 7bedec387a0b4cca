"""From a protobuf body to an object.

A body is an envelope with the kind, around the message of that kind. Unknown kinds and fields are rejected by name:
dropping them would store something else than was sent. Clients can always send JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from stromboli.local.protobuf.messages import FieldForm, message_of, messages

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}


class Malformed(Exception):
    """An invalid or unsupported message."""


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields in their order; a repeated field occurs several times."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        kind = tag & 7
        if kind == _VARINT:
            value, position = _varint(message, position)
            yield tag >> 3, value
        elif kind == _BYTES:
            length, position = _varint(message, position)
            yield tag >> 3, _run(message, position, length)
            position += length
        elif kind in _FIXED_SIZES:
            yield tag >> 3, _run(message, position, _FIXED_SIZES[kind])
            position += _FIXED_SIZES[kind]
        else:
            raise Malformed(f"unknown wire type {kind}")


def signed(value: int) -> int:
    """Negative numbers are 64-bit two's complements."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(message) and shift < 64:
        byte = message[position]
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return value, position
        shift += 7
    raise Malformed("a number ends too early or never")


def _run(message: bytes, position: int, length: int) -> bytes:
    if position + length > len(message):
        raise Malformed("a field ends beyond its message")
    return message[position : position + length]


CONTENT_TYPE = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\x00"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decode_body(body: bytes) -> dict[str, Any]:
    """Decode a protobuf body to the object that the same body in JSON would be."""
    if not body.startswith(_MAGIC):
        raise Malformed("the body does not begin as a Kubernetes message")
    envelope = dict(fields(body[len(_MAGIC) :]))
    names = {number: _bytes(value).decode() for number, value in fields(_bytes(envelope.get(1, b"")))}
    api_version, kind = names.get(1, ""), names.get(2, "")
    message = message_of(api_version, kind)
    if message is None:
        raise Malformed(f"{kind or 'the body'} is not understood in binary form: send JSON")
    return {"apiVersion": api_version, "kind": kind, **_message(_bytes(envelope.get(2, b"")), message)}


def _message(message: bytes, name: str) -> dict[str, Any]:
    forms = messages()[name]
    found: dict[str, Any] = {}
    for number, value in fields(message):
        form = forms.get(number)
        if form is None:
            raise Malformed(f"field {number} of {name} is not understood in binary form: send JSON")
        _put(found, form, value)
    return found


def _put(found: dict[str, Any], form: FieldForm, value: int | bytes) -> None:
    if form.is_map:
        name, entry = _map_entry(_bytes(value), form.type)
        found.setdefault(form.name, {})[name] = entry
        return
    decoded = _value(form.type, value)
    if form.is_list:
        found.setdefault(form.name, []).append(decoded)
    elif form.name == "=":
        found.update(decoded)
    elif decoded or (form.keeps_empty and decoded is not None):
        found[form.name] = decoded


def _map_entry(entry: bytes, type_: str) -> tuple[str, Any]:
    parts = dict(fields(entry))
    value = parts.get(2, b"")
    return _bytes(parts.get(1, b"")).decode(), _value(type_, value)


def _value(type_: str, value: int | bytes) -> Any:
    special = _SPECIAL.get(type_)
    return special(value) if special is not None else _message(_bytes(value), type_)


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise Malformed("expected text or a message, got a number")
    return value


def _text(value: int | bytes) -> str:
    return _bytes(value).decode()


def _int(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise Malformed("expected a number, got text")
    return signed(value)


def _int_or_string(value: int | bytes) -> int | str:
    parts = dict(fields(_bytes(value)))
    return _text(parts.get(3, b"")) if parts.get(1) else _int(parts.get(2, 0))


def _moment(value: int | bytes, form: str) -> str | None:
    """None for the zero time, which clients send for an unset time."""
    parts = dict(fields(_bytes(value)))
    seconds, nanoseconds = _int(parts.get(1, 0)), _int(parts.get(2, 0))
    if seconds <= 0:
        return None
    try:
        return (_EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)).strftime(form)
    except OverflowError as error:
        raise Malformed(f"{seconds} seconds since 1970 is no time") from error


_SPECIAL: dict[str, Callable[[int | bytes], Any]] = {
    "string": _text,
    "int": _int,
    "bool": lambda value: _int(value) != 0,
    "bytes": lambda value: base64.b64encode(_bytes(value)).decode(),
    "Quantity": lambda value: _text(dict(fields(_bytes(value))).get(1, b"")) or None,
    "IntOrString": _int_or_string,
    "RawJson": lambda value: msgspec.json.decode(_bytes(dict(fields(_bytes(value))).get(1, b"null"))),
    "Time": lambda value: _moment(value, "%Y-%m-%dT%H:%M:%SZ"),
    "MicroTime": lambda value: _moment(value, "%Y-%m-%dT%H:%M:%S.%fZ"),
}
