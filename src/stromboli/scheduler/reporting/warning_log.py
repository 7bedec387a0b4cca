"""What cycles warn of, in the log.

Every cycle finds the same things wrong again, and some are found only in cycles that look there. So a warning is logged
when it is new, and once more only after it has not been heard of for a while.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

log = logging.getLogger("stromboli.scheduler")

#: A warning that was not repeated for so many seconds is over.
OVER_AFTER = 600.0


class WarningLog:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        #: When each was heard of last.
        self._heard: dict[str, float] = {}

    def tell(self, warnings: Sequence[str]) -> None:
        """Log those that are new."""
        now = self._clock()
        for warning in dict.fromkeys(warnings):
            if now - self._heard.get(warning, -OVER_AFTER) >= OVER_AFTER:
                log.warning("scheduling warning", extra={"warning": warning})
            self._heard[warning] = now

    def forget_old(self) -> int:
        """Forget those that are over; answers how many they were."""
        now = self._clock()
        over = [warning for warning, heard in self._heard.items() if now - heard >= OVER_AFTER]
        for warning in over:
            del self._heard[warning]
        return len(over)
