"""Creation and deletion of an owner's pods, in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.objects.pod import Pod

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

T = TypeVar("T")

AT_A_TIME = 32


class PodWrites:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(self, namespace: str, documents: Iterable[dict[str, Any]]) -> bool:
        """Create pods; return whether all are new. Existing ones were created before, and the watch does not show them
        yet.
        """
        are_new = True
        for some in _portions(documents):
            are_new &= all(await asyncio.gather(*(self._create(namespace, each) for each in some)))
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
        for some in _portions(pods):
            await asyncio.gather(*(self._delete(pod) for pod in some))

    async def _delete(self, pod: Pod) -> None:
        """Delete the pod with this uid, if it still exists."""
        metadata = pod.metadata
        try:
            await self._client.delete(PODS, metadata.name, namespace=metadata.namespace, uid=metadata.uid)
        except ApiError as error:
            if not (error.is_missing or error.is_conflict):
                raise


def _portions(entries: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(entries)
    while portion := list(islice(remaining, AT_A_TIME)):
        yield portion
