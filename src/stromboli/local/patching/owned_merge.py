"""Merging of an applied configuration, and removal of fields that it no longer has."""

from __future__ import annotations

from typing import Any

from stromboli.local.patching.field_sets import Fields, Path, list_elements
from stromboli.local.patching.list_order import interleave
from stromboli.local.patching.shapes import Shape


def merge(live: Any, wanted: Any, shape: Shape) -> Any:
    """Return `live` with every field of `wanted`; keyed lists and sets keep other items."""
    if isinstance(live, dict) and isinstance(wanted, dict) and not shape.is_atomic_map:
        merged = dict(live)
        for name, field in wanted.items():
            merged[name] = merge(live[name], field, shape.field(name)) if name in live else field
        return merged
    have, want = dict(list_elements(live, shape)), dict(list_elements(wanted, shape))
    if have and want:
        return [_item(have, want, name, shape) for name in interleave(list(have), list(want))]
    return live if have and wanted == [] else wanted


def _item(have: dict[str, Any], want: dict[str, Any], name: str, shape: Shape) -> Any:
    if name in have and name in want:
        return merge(have[name], want[name], shape.item())
    return want[name] if name in want else have[name]


def prune(merged: dict[str, Any], dropped: Fields, kept: Fields, shape: Shape) -> dict[str, Any]:
    """The object without dropped fields, except parents of kept fields."""
    needed = frozenset(path[:depth] for path in kept for depth in range(1, len(path) + 1))
    for path in sorted(dropped - needed, key=len):
        merged = _without(merged, path, 0, needed, shape)
    return merged


def _without(value: Any, path: Path, depth: int, needed: Fields, shape: Shape) -> Any:
    """The value, `depth` elements down the path, without the field at its end.

    Parents that become empty are removed as well, unless they have an owner.
    """
    if isinstance(value, list):
        return _without_element(value, path, depth, needed, shape)
    name = path[depth].removeprefix("f:")
    if not isinstance(value, dict) or name not in value:
        return value
    if depth + 1 < len(path):
        remaining = _without(value[name], path, depth + 1, needed, shape.field(name))
        if remaining or remaining == value[name] or path[: depth + 1] in needed:
            return {**value, name: remaining}
    return {other: field for other, field in value.items() if other != name}


def _without_element(value: list[Any], path: Path, depth: int, needed: Fields, shape: Shape) -> list[Any]:
    elements = list_elements(value, shape)
    if not elements:
        return value
    if depth + 1 == len(path):
        return [item for name, item in elements if name != path[depth]]
    inner = shape.item()
    return [_without(item, path, depth + 1, needed, inner) if name == path[depth] else item for name, item in elements]
