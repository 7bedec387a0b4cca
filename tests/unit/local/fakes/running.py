"""Clients that run as long as a test wants them, and waiting for what they do."""

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
    """Waits until a question about the cluster is answered with something true, and returns that."""
    async with asyncio.timeout(seconds):
        while not (answer := await condition()):
            await asyncio.sleep(0.005)
        return answer
