"""Node usage, collected in the background while a plugin reads it.

No cycle waits for a source. A failure is logged once and the source is queried again at the next interval; its last
figures count until they are too old.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from stromboli.core.config.metrics_options import ADAPTOR, ELASTICSEARCH, METRICS_SERVER, MetricsSource
from stromboli.core.model.nodes.usage import Usage
from stromboli.core.session.program import Program
from stromboli.external.elasticsearch import Elasticsearch
from stromboli.external.endpoints import ExternalEndpoint, transport_to
from stromboli.external.figures import Source, SourceProblem
from stromboli.external.metrics_api import Adaptor, MetricsServer
from stromboli.external.prometheus import Prometheus
from stromboli.external.source_health import SourceHealth
from stromboli.kube.client.client import Client

#: Time limit of one collection in seconds.
TIMEOUT_SECONDS = 10.0
#: Size limit of a response, above the figures of the largest cluster.
MAX_RESPONSE_SIZE = 32 << 20
#: Interval between checks for a changed configuration, in seconds.
_POLL_INTERVAL = 1.0

log = logging.getLogger("stromboli.usage")


class UsageFeed:
    def __init__(
        self,
        client: Client,
        program: Callable[[], Program],
        report: Callable[[Mapping[str, Usage]], int],
        *,
        clock: Callable[[], float],
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._client = client
        self._program = program
        self._report = report
        self._clock = clock
        self._timeout = timeout
        self._configured: tuple[MetricsSource, float] | None = None
        self._source: Source | None = None
        self._next = 0.0
        self.health = SourceHealth(_log_change)

    async def run(self) -> None:
        """Collect until cancelled. `report` returns the number of nodes whose names are known."""
        try:
            while True:
                await self.collect_if_due()
                await asyncio.sleep(_POLL_INTERVAL)
        finally:
            await self._close()

    async def collect_if_due(self) -> None:
        """Query the source if it is due; start again if the configuration changed."""
        program = self._program()
        source, window = program.configuration.metrics, program.usage_window
        wanted = (source, window) if source is not None and window else None
        if wanted != self._configured:
            await self._close()
            self._configured, self._next = wanted, self._clock()
        if wanted is None and program.usage_window:
            self.health.fail("the configuration has no metrics")
        elif wanted is None:
            self.health.reset()
        if wanted is not None and self._clock() >= self._next:
            self._next = self._clock() + wanted[0].interval
            await self._collect(*wanted)

    async def _collect(self, source: MetricsSource, window: float) -> None:
        async with self.health.query(self._timeout):
            if self._source is None:
                self._source = self._source_for(source, window)
            figures = await self._source.read()
            if not self._report(figures):
                raise SourceProblem(_unusable_reason(figures))

    def _source_for(self, source: MetricsSource, window: float) -> Source:
        if source.type == METRICS_SERVER:
            return MetricsServer(self._client)
        if source.type == ADAPTOR:
            return Adaptor(self._client)
        transport = transport_to(endpoint_of(source), timeout=self._timeout, max_size=MAX_RESPONSE_SIZE)
        if source.type == ELASTICSEARCH:
            return Elasticsearch(transport, window, source.index, source.hostname_field)
        return Prometheus(transport, window)

    async def _close(self) -> None:
        self.health.reset()
        source, self._source = self._source, None
        if source is not None:
            await source.close()


def _unusable_reason(figures: Mapping[str, Usage]) -> str:
    """Explain why none of the figures is usable."""
    if not figures:
        return "the source has no figures"
    return (
        f"none of {len(figures)} names is a node name, for example {min(figures)[:60]!r}; label samples with node names"
    )


def endpoint_of(source: MetricsSource) -> ExternalEndpoint:
    return ExternalEndpoint(
        source.address,
        authorities=source.authorities,
        insecure=source.insecure,
        username=source.username,
        password=source.password,
        password_file=source.password_file,
    )


def _log_change(problem: str) -> None:
    if problem:
        log.warning("node usage metrics unavailable", extra={"error": problem})
    else:
        log.info("node usage metrics available again")
