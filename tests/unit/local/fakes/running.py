"""Clients that run during a test, and waiting for their effects."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol


class Runs(Protocol):
    async def run(self) -> None: ...


@contextlib.asynccontextmanager
async def running(*parts: Runs) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(part.run()) for part in parts]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def until(condition: Callable[[], Awaitable[Any]], seconds: float = 5.0) -> Any:
    """Wait until the condition returns something true, and return it."""
    async with asyncio.timeout(seconds):
        while not (answer := await condition()):
            await asyncio.sleep(0.005)
        return answer
