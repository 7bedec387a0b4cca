"""Waiting for work to be done, for a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

_PAUSE = 0.02


async def drained(left: Callable[[], int], timeout: float) -> int:
    """Wait until nothing is left, or time is up; answers how much is left then."""
    deadline = time.monotonic() + timeout
    while left() and time.monotonic() < deadline:
        await asyncio.sleep(_PAUSE)
    return left()
