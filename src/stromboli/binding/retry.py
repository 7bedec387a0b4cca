"""Which failures are worth another attempt, and how long to wait before it."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass

from stromboli.kube.client.api_errors import ApiError, RequestFailed


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often something is tried, and how long the pauses are: they grow, within limits, by chance.

    A server that asks to be left alone is left alone, but not for longer than the longest pause. Whatever happens,
    after `limit` seconds it is not tried again.
    """

    attempts: int = 5
    shortest: float = 0.1
    longest: float = 5.0
    limit: float = 60.0

    def pause(self, attempt: int, error: RequestFailed) -> float:
        """Seconds to wait after the attempt with this number, counted from 0."""
        asked = error.retry_after if isinstance(error, ApiError) and error.retry_after is not None else 0.0
        ceiling = min(self.longest, self.shortest * 3**attempt)
        chosen = random.uniform(self.shortest, max(ceiling, self.shortest))  # noqa: S311
        return min(max(asked, chosen), max(self.longest, chosen))

    async def wait(self, attempt: int, error: RequestFailed, began: float = 0.0) -> bool:
        """Wait before another attempt; False when there is none left, or when it all began too long ago."""
        if attempt + 1 >= self.attempts or (began and time.monotonic() - began >= self.limit):
            return False
        await asyncio.sleep(self.pause(attempt, error))
        return True


def is_retryable(error: RequestFailed) -> bool:
    """The server was busy, broken or out of reach; what it refuses for a reason it will refuse again."""
    if isinstance(error, ApiError):
        return error.status in (408, 429) or error.status >= 500
    return True
