"""The ownership graph: every object by uid, and the dependents of each owner, whether it exists or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stromboli.kube.objects.meta import ObjectMeta, OwnerReference
from stromboli.kube.objects.resources import Resource

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
"""The finalizers of foreground deletion and of orphaning."""


@dataclass(frozen=True, slots=True)
class OwnedObject:
    """An object with its owner references."""

    resource: Resource[Any]
    metadata: ObjectMeta

    @property
    def owners(self) -> list[OwnerReference]:
        return self.metadata.owner_references or []

    @property
    def is_deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def is_foreground_deletion(self) -> bool:
        return self.is_deleting and FOREGROUND in (self.metadata.finalizers or ())

    @property
    def orphans_dependents(self) -> bool:
        return self.is_deleting and ORPHAN in (self.metadata.finalizers or ())

    def is_blocking(self, owner: str) -> bool:
        """Report whether the owner's foreground deletion waits for this object."""
        return any(reference.uid == owner and reference.block_owner_deletion for reference in self.owners)


class Ownership:
    def __init__(self) -> None:
        self._objects: dict[str, OwnedObject] = {}
        self._dependents: dict[str, set[str]] = {}

    def get(self, uid: str) -> OwnedObject | None:
        return self._objects.get(uid)

    def of_kind(self, group: str, kind: str) -> list[OwnedObject]:
        """All objects of a kind, for when the kind is removed."""
        return [
            entry for entry in self._objects.values() if (entry.resource.group, entry.resource.kind) == (group, kind)
        ]

    def dependents(self, uid: str) -> Iterator[OwnedObject]:
        """The existing objects that reference it as an owner."""
        for dependent in list(self._dependents.get(uid, ())):
            if (entry := self._objects.get(dependent)) is not None:
                yield entry

    def apply(self, entry: OwnedObject) -> None:
        uid = entry.metadata.uid
        self.remove(uid)
        self._objects[uid] = entry
        for reference in entry.owners:
            self._dependents.setdefault(reference.uid or "", set()).add(uid)

    def remove(self, uid: str) -> None:
        entry = self._objects.pop(uid, None)
        for reference in entry.owners if entry else ():
            dependents = self._dependents.get(reference.uid or "", set())
            dependents.discard(uid)
            if not dependents:
                self._dependents.pop(reference.uid or "", None)
