"""Fields of the built-in kinds of Kubernetes, from `fields.txt`.

A paragraph of that file is a type and its fields. A field is its name, then `=` and the type of an object, `*` and the
type of list items, or `%` and the type of map values; without a type it is a scalar or not described. Types with
ambiguous names include group and version.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PLACE = Path(__file__).with_name("fields.txt")
OBJECT, LIST, MAP, PLAIN = "=", "*", "%", ""
_FIELD = re.compile(r"([^=*%]+)([=*%]?)(.*)")
Fields = dict[str, tuple[str, "Fields | None"]]
"""The form of each field, and the fields below it if they are described."""


@cache
def field_types() -> dict[str, Fields]:
    """All types by name."""
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
    types = field_types()
    return types.get(f"{package}.{version}.{kind}", types.get(kind))
