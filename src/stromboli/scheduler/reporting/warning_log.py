"""Warnings of cycles in the log, without repetition.

Most cycles repeat the same warnings. A warning is logged when it is new, and again only after it has been absent for a
while.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

log = logging.getLogger("stromboli.scheduler")

#: The seconds of absence after which a warning counts as new.
EXPIRY_SECONDS = 600.0


class WarningLog:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        #: When each occurred last.
        self._last_seen: dict[str, float] = {}

    def log_new(self, warnings: Sequence[str]) -> None:
        """Log the new ones."""
        now = self._clock()
        for warning in dict.fromkeys(warnings):
            if now - self._last_seen.get(warning, -EXPIRY_SECONDS) >= EXPIRY_SECONDS:
                log.warning("scheduling warning", extra={"warning": warning})
            self._last_seen[warning] = now

    def prune(self) -> int:
        """Drop expired warnings; return their number."""
        now = self._clock()
        expired = [warning for warning, last_seen in self._last_seen.items() if now - last_seen >= EXPIRY_SECONDS]
        for warning in expired:
            del self._last_seen[warning]
        return len(expired)
