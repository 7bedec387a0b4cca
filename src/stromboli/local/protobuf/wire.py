"""The wire format of protocol buffers: numbered fields with integers or bytes."""

from __future__ import annotations

from collections.abc import Iterator

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
