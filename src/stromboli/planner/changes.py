"""Changes to objects, as data: the edited fields with their old and new values, and a description.

A change is applied to copies: the original objects are never modified. The description, the JSON output and the trial
use the same edits, so that the proposed change is the verified one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import msgspec

from stromboli.kube import KubeObject

#: Fields and map keys by their JSON names, list elements by index.
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """A new value of one field of one object; None stands for an absent field. The empty path is the object itself,
    which is then created.
    """

    kind: str
    key: str
    path: Path
    before: Any
    after: Any

    @property
    def field(self) -> str:
        """The path as text: `spec.containers[0].resources.requests[nvidia.com/gpu]`."""
        text = ""
        for step in self.path:
            if isinstance(step, int) or not step.isidentifier():
                text += f"[{step}]"
            else:
                text += f".{step}" if text else step
        return text

    def as_plain(self) -> dict[str, Any]:
        before, after = msgspec.to_builtins(self.before), msgspec.to_builtins(self.after)
        if not self.path:
            after = {**after, "metadata": {k: v for k, v in after["metadata"].items() if k != "uid"}}
        return {"object": f"{self.kind} {self.key}", "field": self.field, "from": before, "to": after}


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """A set of edits. `kind` is a stable identifier; `description` is an imperative description without a full stop."""

    kind: str
    description: str
    edits: tuple[Edit, ...]

    def apply(self, objects: Iterable[KubeObject]) -> list[KubeObject]:
        """Return the objects with the change applied. Unchanged objects are shared."""
        by_object: dict[tuple[str, str], list[Edit]] = {}
        for edit in self.edits:
            by_object.setdefault((edit.kind, edit.key), []).append(edit)
        changed = [_edited(entry, by_object.pop((type(entry).kind_name, entry.key), ())) for entry in objects]
        return changed + [_edited(None, edits) for edits in by_object.values()]

    def as_plain(self) -> dict[str, Any]:
        """Return the change as plain values: the first edit inline, and all of them as `edits`."""
        edits = [edit.as_plain() for edit in self.edits]
        return {"kind": self.kind, "description": self.description, **edits[0], "edits": edits}


def combine(changes: Sequence[ObjectChange], kind: str = "several") -> ObjectChange:
    """Combine several changes into one."""
    if len(changes) == 1:
        return changes[0]
    description = "; ".join(change.description for change in changes)
    return ObjectChange(kind, description, tuple(edit for change in changes for edit in change.edits))


def _edited(entry: KubeObject | None, edits: Iterable[Edit]) -> KubeObject:
    value: Any = entry
    for edit in edits:
        value = _replaced(value, edit.path, edit.after)
    return cast(KubeObject, value)


def _replaced(value: Any, path: Path, after: Any) -> Any:
    """Copy the value with `after` at the end of the path; everything else is shared."""
    if not path:
        return after
    step, rest = path[0], path[1:]
    if isinstance(value, msgspec.Struct):
        attribute = _attributes(type(value))[str(step)]
        return msgspec.structs.replace(value, **{attribute: _replaced(getattr(value, attribute), rest, after)})
    if isinstance(value, list):
        return [_replaced(entry, rest, after) if place == step else entry for place, entry in enumerate(value)]
    values, key = value or {}, str(step)
    entry = _replaced(values.get(key), rest, after)
    return {name: old for name, old in values.items() if name != key} if entry is None else {**values, key: entry}


@lru_cache
def _attributes(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Map JSON names to attributes."""
    return {field.encode_name: field.name for field in msgspec.structs.fields(kind)}
