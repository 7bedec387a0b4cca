"""Quantities in built-in kinds, stored in canonical form."""

from __future__ import annotations

from typing import Any

from stromboli.local.api_server.errors import bad_request
from stromboli.local.api_server.quantities import canonical_amounts
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object

Path = tuple[str, ...]

_EACH = "*"
_LIMITED = ("requests", "limits")
_POD_SPEC: tuple[Path, ...] = (
    *((kind, _EACH, "resources", part) for kind in ("containers", "initContainers") for part in _LIMITED),
    *(("resources", part) for part in _LIMITED),
    ("overhead",),
)


def _below(place: Path, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    return tuple((*place, *path) for path in paths)


_TEMPLATE = _below(("spec", "template", "spec"), _POD_SPEC)
_PLACES: dict[str, tuple[Path, ...]] = {
    "pods": _below(("spec",), _POD_SPEC),
    "nodes": (("status", "capacity"), ("status", "allocatable")),
    "persistentvolumes": (("spec", "capacity"),),
    "persistentvolumeclaims": (*(("spec", "resources", part) for part in _LIMITED), ("status", "capacity")),
    "resourcequotas": (("spec", "hard"), ("status", "hard"), ("status", "used")),
    "limitranges": _below(
        ("spec", "limits", _EACH), (("max",), ("min",), ("default",), ("defaultRequest",), ("maxLimitRequestRatio",))
    ),
    **dict.fromkeys(
        ("deployments", "replicasets", "statefulsets", "daemonsets", "replicationcontrollers", "jobs"), _TEMPLATE
    ),
    "podtemplates": _below(("template", "spec"), _POD_SPEC),
    "cronjobs": _below(("spec", "jobTemplate"), _TEMPLATE),
}


def settle_amounts(resource: ServedResource, body: Object) -> None:
    """Convert the quantities of an object to canonical form. Parts may be shared, so they are replaced."""
    if resource.is_custom:
        return
    try:
        for path in _PLACES.get(resource.plural, ()):
            part = body.get(path[0])
            if part and (settled := _settled(part, path[1:])) is not part:
                body[path[0]] = settled
    except ValueError as error:
        kind = resource.kind
        raise bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {error}') from error


def _settled(found: Any, path: Path) -> Any:
    """The same value if nothing in it changes."""
    if not path:
        return canonical_amounts(found)
    step, rest = path[0], path[1:]
    if step == _EACH:
        if not isinstance(found, list):
            return found
        items = [_settled(item, rest) for item in found]
        return found if all(new is old for new, old in zip(items, found, strict=True)) else items
    part = found.get(step) if isinstance(found, dict) else None
    if not part:
        return found
    settled = _settled(part, rest)
    return found if settled is part else {**found, step: settled}
