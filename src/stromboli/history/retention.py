"""The bounds of a history: the age of ended jobs, and the size of the database. Jobs that have not ended stay."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from stromboli.history.databases.database import Database
from stromboli.history.statements import oldest_part, remove_before
from stromboli.history.usage.thresholds import remove_ended_periods

log = logging.getLogger("stromboli.history")

_INTERVAL = 600.0
#: The part of the ended jobs that is removed at once where the size is exceeded.
_PART = 0.1


@dataclass(frozen=True, slots=True)
class HistoryBounds:
    """Seconds since the end of a job, and bytes; 0 for no limit."""

    max_age: float = 90 * 86_400.0
    max_size: int = 1 << 30


class Retention:
    def __init__(self, bounds: HistoryBounds, wall_clock: Callable[[], float]) -> None:
        self._bounds = bounds
        self._wall_clock = wall_clock
        self._next = 0.0
        self.interval = _INTERVAL

    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def run(self, database: Database) -> int:
        """Remove what is beyond the bounds; return the bytes in use. Raises HistoryError."""
        self._next = time.monotonic() + self.interval
        bounds, removed = self._bounds, 0
        remove_ended_periods(database, self._wall_clock())
        if bounds.max_age:
            removed += remove_before(database, self._wall_clock() - bounds.max_age)
        size = database.size()
        while bounds.max_size and size > bounds.max_size:
            moment = oldest_part(database, _PART)
            if moment is None:
                break
            removed += remove_before(database, moment + 1e-3)
            size = database.size()
        if removed:
            database.reclaim()
            log.info("old history removed", extra={"jobs": removed, "bytes": size})
        return size
