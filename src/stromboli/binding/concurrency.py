"""Adaptive concurrency: the limit is halved when the API server cannot keep up, and grows while it can, as in TCP.

Requests that were in flight at the last cut carry no new information when they fail, so one round of failures cuts the
limit once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.work.retry import is_retryable


class ConcurrencyLimiter:
    """At most `maximum` requests in flight, at least one."""

    def __init__(self, maximum: int) -> None:
        self._maximum = max(maximum, 1)
        self._limit = float(self._maximum)
        self._in_flight = 0
        self._cuts = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        return int(self._limit)

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a free slot. A retryable error raised inside lowers the limit."""
        await self._acquire()
        cuts = self._cuts
        try:
            yield
        except RequestFailed as error:
            if is_retryable(error):
                self._cut(cuts)
            raise
        else:
            self._limit = min(self._limit + 1 / self._limit, self._maximum)
        finally:
            self._in_flight -= 1
            self._wake()

    async def _acquire(self) -> None:
        while self._in_flight >= self.limit:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            try:
                await future
            except asyncio.CancelledError:
                self._wake()  # this waiter may have been woken for a free slot: wake another
                raise
        self._in_flight += 1

    def _wake(self) -> None:
        """Wake as many waiters as there are free slots, in order of arrival."""
        free = self.limit - self._in_flight
        while free > 0 and self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                free -= 1

    def _cut(self, cuts: int) -> None:
        if cuts == self._cuts:
            self._cuts += 1
            self._limit = max(self._limit / 2, 1.0)
