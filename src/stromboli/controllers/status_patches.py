"""Writes of statuses, each for the version of the object that was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.watch.informer import GatedInformer

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

T = TypeVar("T", bound=TopLevel)


class StatusPatcher(Generic[T]):
    """Writes statuses, and passes the answers on to the informer, so that the next decision depends on them."""

    def __init__(self, client: Client, informer: GatedInformer[T]) -> None:
        self._client, self._informer = client, informer
        #: The number of writes.
        self.writes = 0

    async def write(self, entry: T, before: msgspec.Struct, after: msgspec.Struct) -> T:
        """Write a status, if it differs. Raises ApiError for a conflict if the object has changed."""
        patch = merge_patch(msgspec.to_builtins(before), msgspec.to_builtins(after))
        if not patch:
            return entry
        metadata = entry.metadata
        body = {"metadata": {"resourceVersion": metadata.resource_version}, "status": patch}
        written = await self._client.patch(
            self._informer.resource, metadata.name, body, namespace=metadata.namespace, subresource="status"
        )
        self.writes += 1
        self._informer.apply(written)
        return written

    async def live(self, entry: T) -> T | None:
        """Read an object from the server, where the watch may be behind; None if it was deleted or is being deleted."""
        metadata = entry.metadata
        try:
            found = await self._client.get(self._informer.resource, metadata.name, namespace=metadata.namespace)
        except ApiError as error:
            if error.is_missing:
                return None
            raise
        self._informer.apply(found)
        return found if found.metadata.uid == metadata.uid and not found.metadata.deletion_timestamp else None


def merge_patch(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the merge patch between two maps; a value that is gone becomes null."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            if changes := merge_patch(before, value):
                patch[key] = changes
        elif value != before:
            patch[key] = value
    return patch
