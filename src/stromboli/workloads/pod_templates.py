"""Pod templates in objects of unknown kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: Deeper fields are not searched; known operators nest their templates six levels deep.
_MAX_DEPTH = 12
_MAX_TEMPLATES = 100


def pod_templates_in(document: Mapping[str, Any]) -> list[str]:
    """Return the fields of all pod templates: maps whose spec, or that themselves, have a list of containers."""
    found: list[str] = []
    for path in _search({key: value for key, value in document.items() if key not in ("metadata", "status")}, ""):
        found.append(path)
        if len(found) == _MAX_TEMPLATES:
            break
    return found


def _search(value: object, path: str, depth: int = 0) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        if _is_pod_spec(value):
            yield path
            return
        for key, part in value.items():
            yield from _search(part, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list):
        for place, part in enumerate(value[:_MAX_TEMPLATES]):
            yield from _search(part, f"{path}[{place}]", depth + 1)


def _is_pod_spec(value: Mapping[str, Any]) -> bool:
    containers = value.get("containers")
    return isinstance(containers, list) and any(isinstance(each, Mapping) and "name" in each for each in containers)
