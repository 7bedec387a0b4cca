"""Table columns: a name, and a function from object to cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stromboli.local.discovery.printers.durations import age

NONE = "<none>"
UNSET = "<unset>"

Cell = str | int | float | bool | None
Object = dict[str, Any]
Reading = Callable[[Object, datetime], Cell]


@dataclass(frozen=True, slots=True)
class Field:
    """One column. Those with a priority above 0 are shown only in the wide format."""

    name: str
    read: Reading
    type: str = "string"
    priority: int = 0
    format: str = ""
    description: str = ""


def at(target: Any, *path: str) -> Any:
    """The value at a path of names, or None if the path ends early."""
    for name in path:
        if not isinstance(target, dict):
            return None
        target = target.get(name)
    return target


def items(target: Any, *path: str) -> list[Any]:
    """The list at the path; empty if absent."""
    found = at(target, *path)
    return found if isinstance(found, list) else []


def text(*path: str, default: str = "") -> Reading:
    """A column of text."""

    def read(entry: Object, now: datetime) -> Cell:
        found = at(entry, *path)
        return default if found is None or found == "" else _plain(found)

    return read


def number(*path: str) -> Reading:
    """A column of counts, 0 if absent."""

    def read(entry: Object, now: datetime) -> Cell:
        found = at(entry, *path)
        return found if isinstance(found, int) else 0

    return read


def size(*path: str) -> Reading:
    """A column with the number of entries of a map or list."""

    def read(entry: Object, now: datetime) -> Cell:
        return len(at(entry, *path) or ())

    return read


def labels_text(labels: Any, default: str = NONE) -> str:
    """Labels as `a=1,b=2`, sorted."""
    if not isinstance(labels, dict) or not labels:
        return default
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))


def joined(values: Iterable[Any], default: str = NONE) -> str:
    return ",".join(str(value) for value in values) or default


def _plain(value: Any) -> Cell:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _age(entry: Object, now: datetime) -> Cell:
    return age(at(entry, "metadata", "creationTimestamp"), now)


NAME = Field("Name", text("metadata", "name"), format="name", description="Unique name of the object.")
AGE = Field("Age", _age, description="Time since the object was created.")
CREATED_AT = Field("Created At", text("metadata", "creationTimestamp"), type="date")
