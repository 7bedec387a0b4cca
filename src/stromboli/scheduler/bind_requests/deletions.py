"""Deletes bind requests that have ended or never will, in the background; no cycle waits for it.

A request that the binder may have begun is deleted only in the version that was last seen: the API server rejects the
deletion if it was written since.
"""

from __future__ import annotations

from collections.abc import Callable

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.catalogue import BIND_REQUESTS
from stromboli.kube.work.retry import RetryPolicy
from stromboli.kube.work.work_queue import WorkQueue


class RequestDeletions:
    """`conflict` is called with requests that have changed and still exist."""

    def __init__(
        self,
        client: Client,
        is_leader: Callable[[], bool],
        *,
        conflict: Callable[[BindRequest], None] = lambda request: None,
        workers: int = 8,
    ) -> None:
        self._client = client
        self._is_leader = is_leader
        self._conflict = conflict
        #: By uid, with whether the request must be unchanged.
        self._requests: dict[str, tuple[BindRequest, bool]] = {}
        retry = RetryPolicy(min_delay=0.2, max_delay=30.0)
        self._queue: WorkQueue[str] = WorkQueue(
            self._process, name="bind request deletion", workers=workers, retry=retry
        )

    @property
    def waiting(self) -> int:
        return len(self._requests)

    def add(self, request: BindRequest, *, unchanged: bool = False) -> None:
        """Delete exactly this request; an `unchanged` one only in the version that was last seen."""
        uid = request.metadata.uid
        if uid not in self._requests:
            self._requests[uid] = request, unchanged
            self._queue.add(uid)

    async def run(self) -> None:
        """Delete until cancelled."""
        await self._queue.run()

    async def _process(self, uid: str) -> None:
        """Delete a request, unless this process does not lead any more; failed deletions are retried."""
        request, unchanged = self._requests[uid]
        if self._is_leader() and not await self._delete(request, unchanged):
            self._conflict(request)
        del self._requests[uid]

    async def _delete(self, request: BindRequest, unchanged: bool) -> bool:
        """Report whether the request is deleted; False if it has changed."""
        metadata = request.metadata
        version = (metadata.resource_version or "") if unchanged else ""
        try:
            await self._client.delete(
                BIND_REQUESTS, metadata.name, namespace=metadata.namespace, uid=metadata.uid, resource_version=version
            )
        except ApiError as error:
            if error.is_conflict:
                return False
            if not error.is_missing:
                raise
        return True
