"""Validation of applied lists: items need distinct keys, by which their owners are recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from stromboli.local.patching.field_sets import Path, describe, list_elements
from stromboli.local.patching.shapes import Shape


def list_problems(value: Any, shape: Shape, path: Path = ()) -> Iterator[str]:
    """Describe items without a key and items with the same key."""
    if isinstance(value, dict):
        for name, field in value.items():
            yield from list_problems(field, shape.field(name), (*path, f"f:{name}"))
    elif isinstance(value, list) and (shape.keys or shape.is_set):
        yield from _items_without_keys(value, shape, path)
        elements = list_elements(value, shape)
        yield from _duplicates([name for name, _ in elements], path)
        for name, item in elements:
            yield from list_problems(item, shape.item(), (*path, name))


def _items_without_keys(items: list[Any], shape: Shape, path: Path) -> Iterator[str]:
    for place, item in enumerate(items):
        if not shape.is_set and not isinstance(item, dict):
            yield f"{describe(path)}: element {place}: must be an object"
            continue
        for key in () if shape.is_set else shape.keys:
            if item.get(key, shape.key_default(key)) is None:
                yield f'{describe(path)}: element {place}: omits the key field "{key}" of its list'


def _duplicates(names: list[str], path: Path) -> Iterator[str]:
    for name in [name for name, count in Counter(names).items() if count > 1]:
        yield f"{describe(path)}: duplicate entries for key {describe((name,))}"
