"""How many requests of one person are open, and answered at a time: many of them do not delay those of others."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from stromboli.visibility.limits import TooManyQuestions

_MAX_OPEN, _MAX_ANSWERED = 32, 4


@dataclass(slots=True)
class _OpenRequests:
    count: int = 0
    answered: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MAX_ANSWERED))


class PersonTurns:
    """Requests wait for those of the same person only."""

    def __init__(self) -> None:
        self._open: dict[str, _OpenRequests] = {}

    @contextlib.asynccontextmanager
    async def turn(self, person: str) -> AsyncIterator[None]:
        """Wait for the turn of a request. Raises TooManyQuestions."""
        own = self._open.setdefault(person, _OpenRequests())
        if own.count >= _MAX_OPEN:
            raise TooManyQuestions(f"{own.count} requests of this person are open already; ask again later")
        own.count += 1
        try:
            async with own.answered:
                yield
        finally:
            own.count -= 1
            if not own.count:
                del self._open[person]
