"""The difference between two documents as a minimal JSON patch (RFC 6902)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Operation = dict[str, Any]


def patch_between(before: Any, after: Any, path: str = "") -> list[Operation]:
    """Return the operations that turn `before` into `after`; none if they are equal."""
    if isinstance(before, dict) and isinstance(after, dict):
        return list(_of_maps(before, after, path))
    if isinstance(before, list) and isinstance(after, list):
        return list(_of_lists(before, after, path))
    return [] if _same(before, after) else [{"op": "replace", "path": path, "value": after}]


def _of_maps(before: dict[str, Any], after: dict[str, Any], path: str) -> Iterator[Operation]:
    for key in before.keys() - after.keys():
        yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}
    for key, value in after.items():
        place = f"{path}/{_escaped(key)}"
        if key in before:
            yield from patch_between(before[key], value, place)
        else:
            yield {"op": "add", "path": place, "value": value}


def _of_lists(before: Sequence[Any], after: Sequence[Any], path: str) -> Iterator[Operation]:
    """Compare entry by entry: an insertion at the front changes all entries."""
    for place in reversed(range(len(after), len(before))):
        yield {"op": "remove", "path": f"{path}/{place}"}
    for place, value in enumerate(after):
        if place < len(before):
            yield from patch_between(before[place], value, f"{path}/{place}")
        else:
            yield {"op": "add", "path": f"{path}/-", "value": value}


def _same(one: object, other: object) -> bool:
    """Compare JSON values: unlike in Python, 1 is not equal to true."""
    return type(one) is type(other) and one == other


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
