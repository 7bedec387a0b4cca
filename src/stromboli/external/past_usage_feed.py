"""Past usage of an external source, read in the background. The last answer counts while the source fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from stromboli.core.config.metrics_options import MetricsSource
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.external.endpoints import transport_to
from stromboli.external.past_usage import PrometheusPastUsage, step_of
from stromboli.external.source_health import SourceHealth
from stromboli.external.usage_feed import MAX_RESPONSE_SIZE, TIMEOUT_SECONDS, endpoint_of

log = logging.getLogger("stromboli.usage")


class ExternalPastUsage:
    """`use` is called with every answer, by the loop that calls `maintain`."""

    def __init__(
        self,
        source: MetricsSource,
        use: Callable[[UsageLedger], None],
        *,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self.source = source
        self._use = use
        self._clock, self._wall_clock = clock, wall_clock
        self._timeout = timeout
        self._reading: asyncio.Task[None] | None = None
        self._next = 0.0
        self.health = SourceHealth(_log_change)

    def maintain(self) -> None:
        """Begin to read if that is due: not more often than there are new samples."""
        if (self._reading is None or self._reading.done()) and self._clock() >= self._next:
            self._next = self._clock() + max(self.source.interval, step_of(self.source.past_usage_period))
            self._reading = asyncio.create_task(self._read())

    def stop(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    async def _read(self) -> None:
        async with self.health.query(self._timeout):
            self._use(await self._answer())

    async def _answer(self) -> UsageLedger:
        source = self.source
        transport = transport_to(endpoint_of(source), timeout=self._timeout, max_size=MAX_RESPONSE_SIZE)
        prometheus = PrometheusPastUsage(transport, source.past_usage, source.past_usage_period)
        try:
            return await prometheus.read(self._wall_clock())
        finally:
            await prometheus.close()


def _log_change(problem: str) -> None:
    if problem:
        log.warning("past usage unavailable; the last answer counts", extra={"error": problem})
    else:
        log.info("past usage available again")
