"""Sets of fields (FieldsV1 of `metadata.managedFields`), and differences between versions of an object.

A field is a path, a tuple of elements: `f:spec`, `f:containers`, `k:{"name":"main"}`, `f:image`. Items of keyed lists
are named by their keys and values of sets by themselves (`v:"x"`), so that a path is independent of positions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from stromboli.local.patching.shapes import Shape

Path = tuple[str, ...]
Fields = frozenset[Path]

#: The item of a keyed list itself, apart from its fields.
_PRESENT: Any = object()
_MEMBER = "."

_encode = msgspec.json.Encoder(order="deterministic").encode


def leaves(value: Any, shape: Shape) -> dict[Path, Any]:
    """Every field that can be owned, with its value."""
    found: dict[Path, Any] = {}
    _collect(value, shape, (), found)
    return found


def _collect(value: Any, shape: Shape, path: Path, found: dict[Path, Any]) -> None:
    if isinstance(value, dict) and value and not shape.is_atomic_map:
        for name, field in value.items():
            _collect(field, shape.field(name), (*path, f"f:{name}"), found)
        return
    elements = list_elements(value, shape)
    if not elements:
        found[path] = value
        return
    for element, item in elements:
        found[*path, element] = _PRESENT
        if isinstance(item, dict):
            _collect(item, shape.item(), (*path, element), found)


def list_elements(value: Any, shape: Shape) -> list[tuple[str, Any]]:
    """The items of a list with their names; empty for atomic lists, and for items without keys."""
    if not isinstance(value, list):
        return []
    if shape.is_set:
        return [(f"v:{_encode(item).decode()}", item) for item in value]
    if not shape.keys or not all(_has_keys(item, shape) for item in value):
        return []
    return [(element_name(item, shape), item) for item in value]


def _has_keys(item: Any, shape: Shape) -> bool:
    if not isinstance(item, dict):
        return False
    return all(item.get(key, shape.key_default(key)) is not None for key in shape.keys)


def element_name(item: dict[str, Any], shape: Shape) -> str:
    """`k:{"name":"main"}`."""
    keys = {key: item.get(key, shape.key_default(key)) for key in shape.keys}
    return f"k:{_encode(keys).decode()}"


def changed_fields(old: Any, new: Any, shape: Shape) -> tuple[Fields, Fields]:
    """Paths that are new or different in `new`, and paths that are gone. Equal parts are skipped."""
    before: dict[Path, Any] = {}
    after: dict[Path, Any] = {}
    _compare(old, new, shape, (), before, after)
    written = frozenset(path for path, value in after.items() if path not in before or before[path] != value)
    return written, frozenset(before.keys() - after.keys())


def _compare(old: Any, new: Any, shape: Shape, path: Path, before: dict[Path, Any], after: dict[Path, Any]) -> None:
    if old is new or old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict) and old and new and not shape.is_atomic_map:
        for name in old.keys() | new.keys():
            _compare_field(old, new, name, shape.field(name), (*path, f"f:{name}"), before, after)
        return
    _collect(old, shape, path, before)
    _collect(new, shape, path, after)


def _compare_field(
    old: dict[str, Any],
    new: dict[str, Any],
    name: str,
    shape: Shape,
    path: Path,
    before: dict[Path, Any],
    after: dict[Path, Any],
) -> None:
    if name not in new:
        _collect(old[name], shape, path, before)
    elif name not in old:
        _collect(new[name], shape, path, after)
    else:
        _compare(old[name], new[name], shape, path, before, after)


def encode_fields(fields: Iterable[Path]) -> dict[str, Any]:
    """Encode as FieldsV1: nested maps, where `.` marks a member that also has members below it."""
    root: dict[str, Any] = {}
    members = set(fields)
    for path in sorted(members):
        node = root
        for depth, element in enumerate(path):
            if depth and path[:depth] in members:
                node.setdefault(_MEMBER, {})
            node = node.setdefault(element, {})
    return root


def decode_fields(tree: Any) -> Fields:
    """Decode FieldsV1."""
    found: set[Path] = set()
    _decode(tree, (), found)
    return frozenset(found)


def _decode(tree: Any, path: Path, found: set[Path]) -> None:
    """Invalid elements are ignored."""
    if not isinstance(tree, dict):
        return
    children = {element: below for element, below in tree.items() if _is_element(element)}
    if path and (not children or _MEMBER in tree):
        found.add(path)
    for element, below in children.items():
        _decode(below, (*path, element), found)


def _is_element(element: str) -> bool:
    kind, _, rest = element.partition(":")
    return kind in ("f", "v") or (kind == "k" and isinstance(_keys(rest), dict))


def _keys(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


def describe(path: Path) -> str:
    """A path as text: `.spec.containers[name="main"].image`."""
    return "".join(_describe_element(element) for element in path)


def _describe_element(element: str) -> str:
    kind, _, rest = element.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "v":
        return f"[={rest}]"
    return "[" + ",".join(f"{name}={_encode(value).decode()}" for name, value in _keys(rest).items()) + "]"
