"""Patches that do not depend on the kind: JSON merge patch (RFC 7386) and JSON patch (RFC 6902).

Patches never change their input: stored objects are shared by lists, watches and history.
"""

from __future__ import annotations

import copy
from typing import Any

MAX_OPERATIONS = 10_000


class PatchFailed(Exception):
    """A well-formed patch that does not fit the object: a missing path, a failed test (422)."""


class MalformedPatch(Exception):
    """An invalid patch (400)."""


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386: objects merge, null removes, everything else replaces. Unchanged parts are shared with `target`."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, change in patch.items():
        if change is None:
            merged.pop(name, None)
        elif isinstance(change, dict):
            merged[name] = merge_patch(merged.get(name), change)
        else:
            merged[name] = change
    return merged


def json_patch(target: Any, operations: Any) -> Any:
    """RFC 6902: all operations in order, or none."""
    if not isinstance(operations, list):
        raise MalformedPatch("a JSON patch is a list of operations")
    if len(operations) > MAX_OPERATIONS:
        raise MalformedPatch(f"the allowed maximum operations in a JSON patch is {MAX_OPERATIONS}")
    document = copy.deepcopy(target)
    for operation in operations:
        document = _operate(document, operation)
    return document


def _operate(document: Any, operation: Any) -> Any:
    if not isinstance(operation, dict):
        raise MalformedPatch(f"not an operation: {operation!r}")
    name, path = operation.get("op"), _steps(operation, "path")
    match name:
        case "add":
            return _add(document, path, copy.deepcopy(_value(operation)))
        case "remove":
            return _remove(document, path)[0]
        case "replace":
            return _replace(document, path, copy.deepcopy(_value(operation)))
        case "move":
            return _move(document, _steps(operation, "from"), path)
        case "copy":
            return _add(document, path, copy.deepcopy(_find(document, _steps(operation, "from"))))
        case "test":
            return _test(document, path, _value(operation))
    raise MalformedPatch(f"unknown operation {name!r}")


def _value(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise MalformedPatch(f"operation {operation.get('op')!r} needs a value")
    return operation["value"]


def _steps(operation: dict[str, Any], name: str) -> list[str]:
    pointer = operation.get(name)
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise MalformedPatch(f"operation {operation.get('op')!r} needs a JSON pointer as {name!r}")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _index(step: str, path: list[str], *, end: int) -> int:
    if not step.isdecimal() or (step.startswith("0") and len(step) > 1):
        raise PatchFailed(f"{_pointer(path)}: {step!r} is no index of a list")
    if int(step) >= end:
        raise PatchFailed(f"{_pointer(path)}: index {step} is out of bounds")
    return int(step)


def _child(container: Any, step: str, path: list[str]) -> Any:
    if isinstance(container, list):
        return container[_index(step, path, end=len(container))]
    if isinstance(container, dict) and step in container:
        return container[step]
    raise PatchFailed(f"{_pointer(path)}: missing path")


def _find(document: Any, path: list[str]) -> Any:
    for step in path:
        document = _child(document, step, path)
    return document


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    container, last = _find(document, path[:-1]), path[-1]
    if isinstance(container, list):
        place = len(container) if last == "-" else _index(last, path, end=len(container) + 1)
        container.insert(place, value)
    elif isinstance(container, dict):
        container[last] = value
    else:
        raise PatchFailed(f"{_pointer(path)}: nothing can be added to a plain value")
    return document


def _remove(document: Any, path: list[str]) -> tuple[Any, Any]:
    """The document without the value at the path, and that value."""
    removed = _find(document, path)
    if not path:
        return None, removed
    container, last = _find(document, path[:-1]), path[-1]
    del container[int(last) if isinstance(container, list) else last]
    return document, removed


def _replace(document: Any, path: list[str], value: Any) -> Any:
    _find(document, path)
    if not path:
        return value
    container, last = _find(document, path[:-1]), path[-1]
    container[int(last) if isinstance(container, list) else last] = value
    return document


def _move(document: Any, source: list[str], path: list[str]) -> Any:
    if path[: len(source)] == source and len(path) > len(source):
        raise PatchFailed(f"{_pointer(source)}: cannot be moved into itself")
    document, moved = _remove(document, source)
    return _add(document, path, moved)


def _test(document: Any, path: list[str], expected: Any) -> Any:
    found = _find(document, path)
    if not _same(found, expected):
        raise PatchFailed(f"testing value {_pointer(path)} failed")
    return document


def _same(left: Any, right: Any) -> bool:
    """Equality of JSON values, where `true` is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


def _pointer(path: list[str]) -> str:
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path) or "the whole document"
