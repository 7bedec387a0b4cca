"""How much is asked of the server at a time: half as much when it cannot keep up, and a little more while it can.

The limit is what TCP made of the same problem. Requests that were under way when the limit was last cut say nothing new
when they fail, so a whole round of failures cuts it once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.work.retry import is_retryable


class ConcurrencyLimiter:
    """At most `most` turns at a time, at least one."""

    def __init__(self, most: int) -> None:
        self._most = max(most, 1)
        self._limit = float(self._most)
        self._under_way = 0
        self._cuts = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        return int(self._limit)

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Waits for one's turn. What is raised within tells whether the server can keep up."""
        await self._begin()
        cuts = self._cuts
        try:
            yield
        except RequestFailed as error:
            if is_retryable(error):
                self._cut(cuts)
            raise
        else:
            self._limit = min(self._limit + 1 / self._limit, self._most)
        finally:
            self._under_way -= 1
            self._call()

    async def _begin(self) -> None:
        while self._under_way >= self.limit:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            try:
                await future
            except asyncio.CancelledError:
                self._call()  # the turn may have been ours
                raise
        self._under_way += 1

    def _call(self) -> None:
        """Those who waited longest come next."""
        free = self.limit - self._under_way
        while free > 0 and self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                free -= 1

    def _cut(self, cuts: int) -> None:
        if cuts == self._cuts:
            self._cuts += 1
            self._limit = max(self._limit / 2, 1.0)
