"""How much is asked at a time: one answer per person, some of all, and few that wait."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator


class TooManyQuestions(Exception):
    """Further questions must wait; the message names the limit."""


class QuestionLimits:
    """A person's questions are answered one after the other, so that many of them do not delay those of others."""

    def __init__(self, *, concurrent: int = 2, per_person: int = 4, waiting: int = 64) -> None:
        self._slots = asyncio.Semaphore(concurrent)
        self._per_person, self._waiting = per_person, waiting
        self._open: Counter[str] = Counter()
        self._turns: dict[str, asyncio.Lock] = {}

    @contextlib.asynccontextmanager
    async def slot(self, person: str) -> AsyncIterator[None]:
        """Wait for the turn of a person. Raises TooManyQuestions."""
        if self._open[person] >= self._per_person:
            raise TooManyQuestions(f"{self._per_person} of your questions are open already; ask again later")
        if self._open.total() >= self._waiting:
            raise TooManyQuestions("the scheduler has too many questions to answer; ask again later")
        self._open[person] += 1
        turn = self._turns.setdefault(person, asyncio.Lock())
        try:
            async with turn, self._slots:
                yield
        finally:
            self._open[person] -= 1
            if not self._open[person]:
                del self._open[person], self._turns[person]
