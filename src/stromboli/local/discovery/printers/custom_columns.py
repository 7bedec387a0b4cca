"""Columns of custom resources, read with the subset of JSONPath that definitions use.

`.spec.queue`, `.metadata.labels['a/b']`, `.metadata.annotations.a\\.b`, `.items[0]`, `.items[-1]`, `.items[*].name` and
`.status.conditions[?(@.type=="Ready")].status`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any

from stromboli.local.api_server.registry import PrinterColumn
from stromboli.local.discovery.printers.columns import AGE, NAME, Cell, Field, Object
from stromboli.local.discovery.printers.durations import age

Step = Callable[[Any], Iterable[Any]]

_STEP = re.compile(
    r"""\.(?P<name>(?:\\.|[^.\[\\])+)"""
    r"""|\[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]"""
    r"""|\[(?P<index>-?\d+)\]"""
    r"""|\[(?P<all>\*)\]"""
    r"""|\[\?\(\s*@\.(?P<key>[\w.\-]+)\s*==\s*(?P<mark>['"])(?P<value>.*?)(?P=mark)\s*\)\]"""
)


class InvalidPath(ValueError):
    """A JSONPath outside of the supported subset."""


def custom_columns(columns: Iterable[PrinterColumn]) -> tuple[Field, ...]:
    """The name, then the declared columns; the age if none is declared."""
    declared = tuple(_field(column) for column in columns)
    return (NAME, *(declared or (AGE,)))


@lru_cache(maxsize=1024)
def compile_path(path: str) -> tuple[Step, ...]:
    """Compile a path to steps, each from one value to the values it selects."""
    path = path.strip().removeprefix("{").removesuffix("}")
    rest = path.removeprefix("$")
    rest = rest if rest.startswith((".", "[")) else f".{rest}"
    steps: list[Step] = []
    position = 0
    while position < len(rest):
        match = _STEP.match(rest, position)
        if match is None:
            raise InvalidPath(f"cannot read {path!r} from {rest[position:]!r} on")
        steps.append(_step(match))
        position = match.end()
    return tuple(steps)


def find(target: Any, path: str) -> list[Any]:
    """All values that the path selects."""
    values = [target]
    for step in compile_path(path):
        values = [found for value in values for found in step(value)]
    return values


def _step(match: re.Match[str]) -> Step:
    name = match["name"] if match["name"] is not None else match["quoted"]
    if name is not None:
        return _member(re.sub(r"\\(.)", r"\1", name))
    if match["index"] is not None:
        return _indexed(int(match["index"]))
    if match["key"] is not None:
        return _filtered(match["key"].split("."), match["value"])
    return _everything


def _member(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and value.get(name) is not None:
            yield value[name]

    return step


def _indexed(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _filtered(names: list[str], expected: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        for item in value if isinstance(value, list) else ():
            found = item
            for name in names:
                found = found.get(name) if isinstance(found, dict) else None
            if found == expected:
                yield item

    return step


def _everything(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _field(column: PrinterColumn) -> Field:
    def read(entry: Object, now: datetime) -> Cell:
        return _cell(column.type, _first(entry, column.path), now)

    return Field(column.name, read, column.type, column.priority, column.format, column.description)


def _first(entry: Object, path: str) -> Any:
    try:
        return next(iter(find(entry, path)), None)
    except InvalidPath:
        return None


def _cell(kind: str, value: Any, now: datetime) -> Cell:
    """A value of its declared type; values of other types are not shown."""
    if value is None:
        return None
    if kind == "date":
        return age(value, now)
    if kind == "integer":
        return int(value) if isinstance(value, int | float) else None
    if kind == "number":
        return value if isinstance(value, int | float) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    return _words(value)


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ",".join(f'"{item}"' if isinstance(item, str) else _words(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f'"{name}":"{_words(field)}"' for name, field in value.items()) + "}"
    return str(value)
