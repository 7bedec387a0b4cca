"""Bind requests that have done their duty, or never will: they are deleted beside the cycles, none of which waits.

A request that somebody may have begun to carry out is deleted only as it was last seen: the server refuses when it was
written since, and then nothing is lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.catalogue import BIND_REQUESTS
from stromboli.kube.work.retry import RetryPolicy
from stromboli.kube.work.work_queue import run_workers

log = logging.getLogger("stromboli.requests")

_PAUSE = RetryPolicy(min_delay=0.2, max_delay=30.0)
_MAX_GROWTH = 8


class RequestDeletions:
    """`refused` is told of requests that have changed since, and are still there."""

    def __init__(
        self,
        client: Client,
        is_leader: Callable[[], bool],
        *,
        refused: Callable[[BindRequest], None] = lambda request: None,
        workers: int = 8,
    ) -> None:
        self._client = client
        self._is_leader = is_leader
        self._refused = refused
        self._workers = workers
        self._lines: deque[tuple[BindRequest, bool]] = deque()
        self._work = asyncio.Event()
        #: By uid, the requests that are to be deleted.
        self._open: set[str] = set()

    @property
    def waiting(self) -> int:
        return len(self._open)

    def is_open(self, request: BindRequest) -> bool:
        return request.metadata.uid in self._open

    def want(self, request: BindRequest, *, unchanged: bool = False) -> None:
        """Delete this very request; if it must be `unchanged`, only as it was last seen."""
        if not self.is_open(request):
            self._open.add(request.metadata.uid)
            self._lines.append((request, unchanged))
            self._work.set()

    async def run(self) -> None:
        """Delete until cancelled."""
        await run_workers(self._workers, self._worker)

    async def _worker(self) -> None:
        while True:
            while not self._lines:
                self._work.clear()
                await self._work.wait()
            request, unchanged = self._lines.popleft()
            try:
                await self._delete(request, unchanged)
            finally:
                self._open.discard(request.metadata.uid)

    async def _delete(self, request: BindRequest, unchanged: bool) -> None:
        """Until it is gone, has changed, or is no longer ours to delete; errors pass, and are told once."""
        metadata, attempt = request.metadata, 0
        version = (metadata.resource_version or "") if unchanged else ""
        while self._is_leader():
            try:
                await self._client.delete(
                    BIND_REQUESTS, metadata.name, namespace=metadata.namespace, uid=metadata.uid,
                    resource_version=version,
                )  # fmt: skip
            except RequestFailed as error:
                if isinstance(error, ApiError) and error.is_missing:
                    return
                if isinstance(error, ApiError) and error.is_conflict:
                    self._refused(request)
                    return
                if not attempt:
                    log.warning("BindRequest %s cannot be deleted, which is tried again: %s", request.key, error)
                await asyncio.sleep(_PAUSE.delay(min(attempt, _MAX_GROWTH), error))
                attempt += 1
            else:
                return
