"""A list in the making, on its way into a mirror.

The first list goes to the sink at once. Later ones are held back until they are whole: only then is it known what is
missing, and whether the list is younger than what the sink knows.
"""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

from stromboli.kube.client.decoding import DecodedPage, Unreadable
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.watch.object_store import Mirror

T = TypeVar("T", bound=TopLevel)

BATCH = 500
"""So many objects are told to the sink before others on the event loop get their turn."""


class ListBuffer(Generic[T]):
    """What a list has brought so far."""

    def __init__(self, mirror: Mirror[T]) -> None:
        self._mirror = mirror
        self._at_once = mirror.is_new
        self._found: dict[str, T | Unreadable | None] = {}

    def take(self, entry: T | Unreadable) -> None:
        if self._at_once:
            self._found[entry.key] = None
            self._tell(entry)
        elif isinstance(entry, Unreadable):
            self._found[entry.key] = entry
        else:
            self._found[entry.key] = self._mirror.current(entry)

    def drop(self, entry: T | Unreadable) -> None:
        """It was deleted while the list was under way."""
        self._found.pop(entry.key, None)

    def take_page(self, page: DecodedPage[T]) -> None:
        for entry in page.items:
            self.take(entry)
        for refused in page.unreadable:
            self.take(refused)

    async def settle(self, version: str) -> None:
        """The list is whole and of this version: what it does not hold is gone."""
        for number, gone in enumerate(self._mirror.missing(self._found)):
            self._mirror.lose(gone, version)
            await _yield_periodically(number)
        for number, entry in enumerate(self._found.values()):
            if entry is not None:
                self._tell(entry)
            await _yield_periodically(number)
        self._mirror.advance(version)

    def _tell(self, entry: T | Unreadable) -> None:
        if isinstance(entry, Unreadable):
            self._mirror.refuse(entry)
        else:
            self._mirror.apply(entry)


async def _yield_periodically(number: int) -> None:
    if number % BATCH == BATCH - 1:
        await asyncio.sleep(0)
