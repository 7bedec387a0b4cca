"""What a decision leaves behind in this process when it has ended, or when its requests are gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from stromboli.binder.plugin import Bind
from stromboli.binder.requests.book import Decision
from stromboli.binder.requests.preparing import Preparations
from stromboli.binder.requests.rooms import Rooms

log = logging.getLogger("stromboli.binder")


class Leftovers:
    def __init__(self, rooms: Rooms, preparations: Preparations) -> None:
        self._rooms = rooms
        self._preparations = preparations
        self._background: set[asyncio.Task[None]] = set()

    def release(self, decision: Decision) -> None:
        """Who is not bound holds no room any more."""
        self._rooms.release(self._rooms.held_by(decision.key))
        decision.prepared.clear()
        decision.begun.clear()
        decision.problems.clear()
        decision.unknown.clear()

    def forget(self, decision: Decision) -> None:
        """The request is gone: nobody wants its pods to be bound. What was prepared for them is taken back."""
        begun = [bind for uid, bind in decision.begun.items() if uid not in decision.bound]
        preparing = decision.preparing
        if preparing is not None:
            preparing.cancel()
        self.release(decision)
        if begun:
            task = asyncio.ensure_future(self._take_back(begun, preparing))
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _take_back(self, binds: Iterable[Bind], preparing: asyncio.Task[None] | None) -> None:
        if preparing is not None:
            await asyncio.wait((preparing,))
        for bind in binds:
            for words in await self._preparations.take_back(bind):
                log.warning("a bind request is gone: %s", words, extra={"pod": bind.pod.key})
