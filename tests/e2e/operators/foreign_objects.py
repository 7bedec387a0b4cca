"""Whether foreign objects are as their owners wrote them: the scheduler adds its own fields and removes none."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from stromboli.workloads.groups import GROUP_NAME

Document = dict[str, Any]

#: What the server itself puts on a pod when it is bound: where its node is.
_PLACE = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def losses(written: Document, found: Document) -> list[str]:
    """Fields that differ from what the controller wrote."""
    kind, before, after = written["kind"], written["metadata"], found["metadata"]
    parts = [
        ("finalizers", before.get("finalizers"), after.get("finalizers")),
        ("ownerReferences", before.get("ownerReferences"), after.get("ownerReferences")),
        ("labels", before.get("labels") or {}, _without(after.get("labels") or {}, _PLACE)),
        ("annotations", before.get("annotations") or {}, _annotations(kind, before, after)),
        ("spec", _spec(kind, written), _spec(kind, found)),
    ]
    return [f"{kind} {before['name']}: {part} was {old}, is {new}" for part, old, new in parts if old != new]


def _annotations(kind: str, before: Document, after: Document) -> Document:
    """Without what we are allowed to add: marks of a bind, and the group of a pod that named none."""
    found = dict(after.get("annotations") or {})
    if kind == "Pod":
        ours = [key for key in found if key.startswith("stromboli.dev/")]
        if GROUP_NAME not in (before.get("annotations") or {}):
            ours.append(GROUP_NAME)
        found = _without(found, ours)
    return found


def _without(entries: Document, keys: Collection[str]) -> Document:
    return {key: value for key, value in entries.items() if key not in keys}


def _spec(kind: str, document: Document) -> Document:
    spec = dict(document.get("spec") or {})
    if kind == "Pod":
        spec.pop("nodeName", None)
    return spec
