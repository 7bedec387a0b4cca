"""Retries: which failures are worth another attempt, and how long to wait before it."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass

from stromboli.kube.client.api_errors import ApiError, RequestFailed

_MAX_EXPONENT = 30


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often something is attempted, and the delays between attempts, in seconds.

    Delays grow by `factor` from `min_delay` to `max_delay`; with `jitter`, each is drawn between `min_delay` and that
    value. A Retry-After of the server replaces the delay, within the same bounds. No attempt starts later than `limit`
    seconds after the first one.
    """

    attempts: int = 5
    min_delay: float = 0.1
    max_delay: float = 5.0
    limit: float = 60.0
    factor: float = 3.0
    jitter: bool = True

    def delay(self, attempt: int, error: Exception | None = None) -> float:
        """Return the delay after the attempt with this number, counted from 0, that failed with `error`."""
        retry_after = error.retry_after if isinstance(error, ApiError) else None
        if retry_after:
            stretched = retry_after * (random.uniform(1.0, 1.2) if self.jitter else 1.0)  # noqa: S311
            return max(min(stretched, self.max_delay), self.min_delay)
        growth = self.factor ** min(attempt, _MAX_EXPONENT)
        ceiling = max(min(self.min_delay * growth, self.max_delay), self.min_delay)
        return random.uniform(self.min_delay, ceiling) if self.jitter else ceiling  # noqa: S311

    async def wait(self, attempt: int, error: Exception, began: float = 0.0) -> bool:
        """Wait before the next attempt; return False when none is left or the limit since `began` has passed."""
        if attempt + 1 >= self.attempts or (began and time.monotonic() - began >= self.limit):
            return False
        await asyncio.sleep(self.delay(attempt, error))
        return True


def is_retryable(error: RequestFailed) -> bool:
    """Report whether the server was busy, broken or unreachable; what it rejects for a reason it rejects again."""
    if isinstance(error, ApiError):
        return error.status in (408, 429) or error.status >= 500
    return True
