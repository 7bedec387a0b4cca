"""How much is asked at a time: one answer per person and per namespace, some of all, and few that wait."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator


class TooManyQuestions(Exception):
    """Further questions must wait; the message names the limit."""


class QuestionLimits:
    """The questions of a person, and those about a namespace, are answered one after the other, so that many of them do
    not delay those of others.
    """

    def __init__(self, *, concurrent: int = 2, per_person: int = 4, per_namespace: int = 16, waiting: int = 64) -> None:
        self._slots = asyncio.Semaphore(concurrent)
        self._most, self._waiting = {"person": per_person, "namespace": per_namespace}, waiting
        #: By person and by namespace: a person may have many accounts in a namespace.
        self._open: Counter[tuple[str, str]] = Counter()
        self._turns: dict[tuple[str, str], asyncio.Lock] = {}

    @contextlib.asynccontextmanager
    async def slot(self, person: str, namespace: str) -> AsyncIterator[None]:
        """Wait for the turn of a person and of a namespace. Raises TooManyQuestions."""
        keys = (("person", person), ("namespace", namespace))
        for key in keys:
            if self._open[key] >= self._most[key[0]]:
                raise TooManyQuestions(
                    f"{self._open[key]} questions of this {key[0]} are open already; ask again later"
                )
        if self._open.total() >= len(keys) * self._waiting:
            raise TooManyQuestions("the scheduler has too many questions to answer; ask again later")
        self._open.update(keys)
        of_person, of_namespace = (self._turns.setdefault(key, asyncio.Lock()) for key in keys)
        try:
            async with of_person, of_namespace, self._slots:
                yield
        finally:
            for key in keys:
                self._open[key] -= 1
                if not self._open[key]:
                    del self._open[key], self._turns[key]
