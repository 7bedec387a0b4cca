"""Past usage of an external source, read in the background. The last answer counts while the source fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from stromboli.core.config.metrics_options import MetricsSource
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.external.endpoints import EndpointError, transport_to
from stromboli.external.figures import SourceProblem
from stromboli.external.past_usage import PrometheusPastUsage
from stromboli.external.usage_feed import MAX_RESPONSE_SIZE, TIMEOUT_SECONDS, endpoint_of
from stromboli.kube.client.api_errors import RequestFailed

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
        #: Why there is no new answer; empty if there is.
        self.problem = ""

    def maintain(self) -> None:
        """Begin to read if that is due."""
        if (self._reading is None or self._reading.done()) and self._clock() >= self._next:
            self._next = self._clock() + self.source.interval
            self._reading = asyncio.create_task(self._read())

    def stop(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                self._use(await self._answer())
        except TimeoutError:
            self._set_problem(f"no response within {self._timeout:g} s")
        except (RequestFailed, EndpointError, SourceProblem) as error:
            self._set_problem(str(error))
        except Exception as error:
            log.exception("past usage not read")
            self.problem = str(error)
        else:
            self._set_problem("")

    async def _answer(self) -> UsageLedger:
        source = self.source
        transport = transport_to(endpoint_of(source), timeout=self._timeout, max_size=MAX_RESPONSE_SIZE)
        prometheus = PrometheusPastUsage(transport, source.past_usage, source.past_usage_period)
        try:
            return await prometheus.read(self._wall_clock())
        finally:
            await prometheus.close()

    def _set_problem(self, problem: str) -> None:
        """Log each change between working and failing once."""
        if problem and not self.problem:
            log.warning("past usage unavailable; the last answer counts", extra={"error": problem})
        elif self.problem and not problem:
            log.info("past usage available again")
        self.problem = problem
