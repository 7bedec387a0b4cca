"""Workers that take from one line, side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


async def run_workers(count: int, worker: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """So many of them, until cancelled; when one fails, all end."""
    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(worker())
