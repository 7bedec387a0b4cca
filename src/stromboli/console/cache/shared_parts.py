"""Equal parts of objects, kept once: the pods of a gang differ in little more than their names and nodes.

Objects of the cache are replaced and never edited, so that they can share what is equal.
"""

from __future__ import annotations

from sys import intern
from typing import Any

import msgspec

from stromboli.cluster.ingest.ingest import Ingest
from stromboli.kube.objects.meta import KubeCondition, TopLevel

#: Parts that are remembered; then the table begins again, so that those of objects that are gone are freed.
_MAX_PARTS = 5_000
_METADATA = ("labels", "annotations", "owner_references", "finalizers", "creation_timestamp")


class SharedParts:
    def __init__(self) -> None:
        self._parts: dict[int, Any] = {}

    def share(self, entry: TopLevel) -> None:
        """Replace parts of a new object by equal ones of earlier objects."""
        metadata = entry.metadata
        metadata.namespace = intern(metadata.namespace)
        self._share_fields(entry, ("api_version", "kind"))
        self._share_fields(metadata, _METADATA)
        for part in (getattr(entry, "spec", None), getattr(entry, "status", None)):
            if isinstance(part, msgspec.Struct):
                for condition in getattr(part, "conditions", None) or ():
                    if isinstance(condition, KubeCondition):
                        self._share_fields(condition, condition.__struct_fields__)
                self._share_fields(part, part.__struct_fields__)
        self._share_fields(entry, tuple(name for name in ("spec", "status") if hasattr(entry, name)))

    def _share_fields(self, owner: msgspec.Struct, names: tuple[str, ...]) -> None:
        for name in names:
            value = getattr(owner, name)
            if isinstance(value, str | list | dict | msgspec.Struct):
                setattr(owner, name, intern(value) if type(value) is str else self._shared(value))

    def _shared(self, part: Any) -> Any:
        if len(self._parts) >= _MAX_PARTS:
            self._parts.clear()
        known = self._parts.setdefault(hash(msgspec.msgpack.encode(part)), part)
        return known if type(known) is type(part) and known == part else part


class SharingIngest(Ingest):
    """Shares parts of the objects that a watch reports."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._shared = SharedParts()

    def apply(self, entry: TopLevel) -> None:
        self._shared.share(entry)
        super().apply(entry)
