"""Usage of queues over HTTP. One query of the history serves all people for some seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stromboli.console.documents.usage import QueueUsages
from stromboli.console.server.calls import ConsoleCall
from stromboli.console.views.history import HistoryReader, UsageFacts, seconds
from stromboli.console.views.usage import budgets_in, families_of, queue_usages
from stromboli.console.views.view import PersonView

_PERIOD = 30 * 86_400.0
#: Seconds for which a result is kept, and the number of results.
_SECONDS_TO_KEEP, _MAX_KEPT = 15.0, 8
#: Beginnings of periods are rounded down, so that people share results.
_ROUNDED = 60.0


class ConsoleUsage:
    """`history` is None without one."""

    def __init__(self, history: HistoryReader | None, clock: Callable[[], float]) -> None:
        self._history, self._clock = history, clock
        self._lock = asyncio.Lock()
        self._kept: dict[float, UsageFacts] = {}

    async def queues(self, call: ConsoleCall) -> QueueUsages:
        """Raises ValueError, HistoryError."""
        view, now = await call.view(), self._clock()
        wanted = seconds(call.query, "since")
        since = (now - _PERIOD if wanted is None else min(wanted, now)) // _ROUNDED * _ROUNDED
        if self._history is None:
            return queue_usages(view, UsageFacts(since, now, {}, ()))
        async with self._lock:
            facts = await self._facts(self._history, view, since, now)
        return queue_usages(view, facts)

    async def _facts(self, history: HistoryReader, view: PersonView, since: float, now: float) -> UsageFacts:
        known = self._kept.get(since)
        if known is not None and 0 <= now - known.until < _SECONDS_TO_KEEP:
            return known
        families = families_of(view.frame.queues)
        found = await asyncio.to_thread(history.usage, since, now, budgets_in(view), families)
        self._kept.pop(since, None)
        self._kept[since] = found
        while len(self._kept) > _MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        return found
