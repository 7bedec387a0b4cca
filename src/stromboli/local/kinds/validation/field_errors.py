"""Common field errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from stromboli.local.api_server.errors import Cause
from stromboli.local.kinds.validation.names import label_problem


def required(field: str, why: str = "") -> Cause:
    return Cause("FieldValueRequired", f"Required value: {why}" if why else "Required value", field)


def wrong(field: str, value: Any, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {msgspec.json.encode(value).decode()}: {why}", field)


def duplicate(field: str, value: str) -> Cause:
    return Cause("FieldValueDuplicate", f'Duplicate value: "{value}"', field)


def missing(field: str, value: str, why: str = "") -> Cause:
    """A reference to something that does not exist."""
    return Cause("FieldValueNotFound", f'Not found: "{value}"' + (f": {why}" if why else ""), field)


def not_allowed(field: str, why: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def one_of(field: str, value: str, supported: Iterable[str]) -> Iterator[Cause]:
    """The value must be one of these."""
    choices = tuple(supported)
    if value not in choices:
        listed = ", ".join(f'"{word}"' for word in choices)
        yield Cause("FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {listed}', field)


def unique_label(field: str, name: str | None, seen: set[str]) -> Iterator[Cause]:
    """A required, unique name of a list item."""
    if not name:
        yield required(field)
    elif problem := label_problem(name):
        yield wrong(field, name, problem)
    elif name in seen:
        yield duplicate(field, name)
    else:
        seen.add(name)
