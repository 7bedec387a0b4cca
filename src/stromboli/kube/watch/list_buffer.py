"""A list that is being read, on its way into a WatchStore.

The first list is passed to the sink page by page. Later lists are buffered until they are complete: only then are the
missing objects known, and whether the list is newer than the store.
"""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

from stromboli.kube.client.decoding import DecodedPage, Unreadable
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.watch.object_store import WatchStore

T = TypeVar("T", bound=TopLevel)

BATCH = 500
"""The number of objects after which other tasks on the event loop run."""


class ListBuffer(Generic[T]):
    """The entries of a list that have been read so far."""

    def __init__(self, store: WatchStore[T]) -> None:
        self._store = store
        self._at_once = store.is_new
        self._found: dict[str, T | Unreadable | None] = {}

    def take(self, entry: T | Unreadable) -> None:
        if self._at_once:
            self._found[entry.key] = None
            self._pass_on(entry)
        elif isinstance(entry, Unreadable):
            self._found[entry.key] = entry
        else:
            self._found[entry.key] = self._store.current(entry)

    def drop(self, entry: T | Unreadable) -> None:
        """Drop an object that was deleted while the list was read."""
        self._found.pop(entry.key, None)

    def take_page(self, page: DecodedPage[T]) -> None:
        for entry in page.items:
            self.take(entry)
        for refused in page.unreadable:
            self.take(refused)

    async def commit(self, version: str) -> None:
        """The list is complete and of this version: pass it to the store, and remove what is missing from it."""
        for number, gone in enumerate(self._store.missing(self._found)):
            self._store.lose(gone, version)
            await _yield_periodically(number)
        for number, entry in enumerate(self._found.values()):
            if entry is not None:
                self._pass_on(entry)
            await _yield_periodically(number)
        self._store.advance(version)

    def _pass_on(self, entry: T | Unreadable) -> None:
        if isinstance(entry, Unreadable):
            self._store.refuse(entry)
        else:
            self._store.apply(entry)


async def _yield_periodically(number: int) -> None:
    if number % BATCH == BATCH - 1:
        await asyncio.sleep(0)
