"""Adoption of orphans, and release of objects that no longer match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.resources import Resource, T

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


class OwnerReferences:
    """Owner references are a list that is replaced as a whole, so only over the version that was read."""

    def __init__(self, client: Client, resource: Resource[T]) -> None:
        self._client = client
        self._resource: Resource[Any] = resource

    async def adopt(self, entry: T, owner: dict[str, Any]) -> None:
        owners = msgspec.to_builtins(entry.metadata.owner_references or [])
        await self._write(entry.metadata, [*owners, owner])

    async def release(self, entry: T, owner_uid: str) -> None:
        kept = [each for each in entry.metadata.owner_references or () if each.uid != owner_uid]
        await self._write(entry.metadata, msgspec.to_builtins(kept))

    async def _write(self, metadata: ObjectMeta, owners: list[dict[str, Any]]) -> None:
        version = metadata.resource_version
        body = {"metadata": {"uid": metadata.uid, "resourceVersion": version, "ownerReferences": owners or None}}
        try:
            await self._client.patch(self._resource, metadata.name, body, namespace=metadata.namespace)
        except ApiError as error:
            if not error.is_missing:
                raise
