"""The columns of a table: a name, and how the cell is read off an object."""

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
    """One column. Those with a priority above 0 are shown only in the wide form."""

    name: str
    read: Reading
    type: str = "string"
    priority: int = 0
    format: str = ""
    description: str = ""


def at(target: Any, *path: str) -> Any:
    """What stands at the path of names, or None where the path ends early."""
    for name in path:
        if not isinstance(target, dict):
            return None
        target = target.get(name)
    return target


def items(target: Any, *path: str) -> list[Any]:
    """The list at the path; nothing there is the empty list."""
    found = at(target, *path)
    return found if isinstance(found, list) else []


def text(*path: str, default: str = "") -> Reading:
    """A field as text."""

    def read(entry: Object, now: datetime) -> Cell:
        found = at(entry, *path)
        return default if found is None or found == "" else _plain(found)

    return read


def number(*path: str) -> Reading:
    """A count, which is 0 where it is not said."""

    def read(entry: Object, now: datetime) -> Cell:
        found = at(entry, *path)
        return found if isinstance(found, int) else 0

    return read


def size(*path: str) -> Reading:
    """How many entries a map or list has."""

    def read(entry: Object, now: datetime) -> Cell:
        return len(at(entry, *path) or ())

    return read


def labels_text(labels: Any, default: str = NONE) -> str:
    """`a=1,b=2`, sorted."""
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
