"""Writes of workload controllers: pods in batches, statuses and owner references."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.resources import Resource, T

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


E = TypeVar("E")

BATCH_SIZE = 32


class PodWrites:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(self, namespace: str, documents: Iterable[dict[str, Any]]) -> bool:
        """Create pods; return whether all are new. The watch may not show existing ones yet."""
        are_new = True
        for batch in _batches(documents):
            are_new &= all(await asyncio.gather(*(self._create(namespace, each) for each in batch)))
        return are_new

    async def _create(self, namespace: str, document: dict[str, Any]) -> bool:
        try:
            await self._client.create(PODS, document, namespace=namespace)
        except ApiError as error:
            if not error.is_conflict:
                raise
            return False
        return True

    async def delete(self, pods: Iterable[Pod]) -> None:
        for batch in _batches(pods):
            await asyncio.gather(*(self._delete(pod) for pod in batch))

    async def _delete(self, pod: Pod) -> None:
        """Delete the pod with this uid, if it still exists."""
        metadata = pod.metadata
        try:
            await self._client.delete(PODS, metadata.name, namespace=metadata.namespace, uid=metadata.uid)
        except ApiError as error:
            if not (error.is_missing or error.is_conflict):
                raise


def _batches(entries: Iterable[E]) -> Iterator[list[E]]:
    remaining = iter(entries)
    while batch := list(islice(remaining, BATCH_SIZE)):
        yield batch


async def write_status(client: Client, resource: Resource[T], entry: T, changes: dict[str, Any]) -> None:
    """Write a status; conflicts and deleted objects are ignored, because the status belongs to the version read."""
    metadata = entry.metadata
    body = {"metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version}, "status": changes}
    try:
        await client.patch(resource, metadata.name, body, namespace=metadata.namespace, subresource="status")
    except ApiError as error:
        if not error.is_missing:
            raise


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
