"""Client-side rate limit: a token bucket."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


class TokenBucket:
    """Admits `burst` requests at once and `qps` per second on average; a rate of 0 or less is unlimited.

    Tokens are handed out ahead of time: each caller takes the next token, even if it is due later, and waits for it.
    Requests therefore keep their order.
    """

    def __init__(self, qps: float, burst: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._qps = qps
        self._burst = max(burst, 1)
        self._clock = clock
        self._tokens = float(self._burst)
        #: When it was last used.
        self.filled_at = clock()

    async def wait(self) -> None:
        if self._qps > 0 and (delay := self.take()) > 0:
            await asyncio.sleep(delay)

    def take(self) -> float:
        """Take the next token; return the seconds until it is due."""
        self._fill()
        self._tokens -= 1
        return max(-self._tokens / self._qps, 0.0)

    def try_take(self) -> bool:
        """Take a token if one is available now."""
        self._fill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _fill(self) -> None:
        now = self._clock()
        self._tokens = min(self._tokens + (now - self.filled_at) * self._qps, float(self._burst))
        self.filled_at = now
