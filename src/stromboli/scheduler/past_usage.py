"""Past usage for plugins that read it: loaded once from the history, then kept up to date by the watches; or read
from Prometheus where the policy has queries for it.

Until the history is loaded, and without one, pods count from the start that the cluster shows. Plugins may wait for it,
but not indefinitely: a database may be away. Nothing is accounted while no plugin reads it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from stromboli.cluster.state.usage_meter import UsageMeter
from stromboli.core.config.metrics_options import MetricsSource
from stromboli.core.model.usage.ledger import OpenRun, UsageLedger
from stromboli.external.past_usage_feed import ExternalPastUsage
from stromboli.history.databases.database import HistoryError
from stromboli.history.databases.opening import open_for_reading
from stromboli.kube.objects.meta import TopLevel

if TYPE_CHECKING:
    from stromboli.scheduler.wiring import Components

#: Seconds until the history is tried again.
_RETRY = 10.0
#: Seconds that decisions may wait for the history.
_MAX_WAIT = 30.0

log = logging.getLogger("stromboli.scheduler")


class PastUsageFeed:
    def __init__(self, components: Components, wall_clock: Callable[[], float] = time.time) -> None:
        self._components = components
        self._wall_clock = wall_clock
        self._meter: UsageMeter | None = None
        self._loading: asyncio.Task[tuple[UsageLedger, list[OpenRun]]] | None = None
        self._next_attempt = self._began = 0.0
        self._external: ExternalPastUsage | None = None
        #: Whether the ledger has the runs of the history, or of an external source.
        self.is_loaded = False

    def object_changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        if self._meter is not None:
            self._meter.object_changed(entry, before, self._wall_clock())

    def maintain(self) -> None:
        """Begin or end to account, and load the history as soon as everything that exists is recorded in it."""
        components = self._components
        if not components.policy.program.reads_past_usage:
            self._stop()
            return
        if not (components.watches.is_up_to_date and components.is_leader()):
            return
        source = components.policy.program.configuration.metrics
        if source is not None and source.past_usage:
            self._read_external(source)
            return
        if self._external is not None:
            self._stop()
        if self._meter is None:
            self._begin()
            return
        self._end_wait_if_due()
        if self._loading is not None:
            if self._loading.done():
                self._finish(self._loading)
        elif self._is_load_due():
            self._loading = asyncio.create_task(asyncio.to_thread(_load, components.options.history))
            self._loading.add_done_callback(lambda task: components.trigger.notify())

    def _read_external(self, source: MetricsSource) -> None:
        """Read past usage from Prometheus, which also knows of the pods that run."""
        components = self._components
        if self._external is None or self._external.source != source:
            self._stop()
            components.cluster.past_usage = UsageLedger()
            components.cluster.past_usage.is_loading = True
            self._began = components.clock()
            self._external = ExternalPastUsage(
                source, self._use, clock=components.clock, wall_clock=self._wall_clock
            )  # fmt: skip
        self._end_wait_if_due()
        self._external.maintain()

    def _use(self, ledger: UsageLedger) -> None:
        self._components.cluster.past_usage = ledger
        if not self.is_loaded:
            self._components.trigger.notify()
        self.is_loaded = True

    def _begin(self) -> None:
        components = self._components
        components.cluster.cluster_state()  # decodes the requests of new pods
        has_history = components.history is not None
        self._meter = UsageMeter(components.cluster, is_loading=has_history)
        self._meter.observe_all(self._wall_clock())
        self._began = components.clock()
        if not has_history:
            log.warning("past usage not kept: a plugin reads it, but no history is recorded; set --history")

    def _end_wait_if_due(self) -> None:
        components, ledger = self._components, self._components.cluster.past_usage
        if ledger is not None and ledger.is_loading and components.clock() - self._began >= _MAX_WAIT:
            ledger.is_loading = False
            log.warning("past usage not loaded in time; decisions no longer wait for it", extra={"seconds": _MAX_WAIT})
            components.trigger.notify()

    def _stop(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
        if self._external is not None:
            self._external.stop()
            self._external = None
        self._meter = self._loading = self._components.cluster.past_usage = None
        self.is_loaded = False

    def _is_load_due(self) -> bool:
        history = self._components.history
        if history is None or self.is_loaded or self._components.clock() < self._next_attempt:
            return False
        return history.has_reported and history.writer.is_idle

    def _finish(self, loading: asyncio.Task[tuple[UsageLedger, list[OpenRun]]]) -> None:
        self._loading = None
        try:
            ledger, running = loading.result()
        except HistoryError as error:
            self._next_attempt = self._components.clock() + _RETRY
            log.error("past usage not loaded; trying again", extra={"error": str(error), "seconds": _RETRY})
            return
        if self._meter is not None:
            self._meter.restore(ledger, running, self._wall_clock())
            self.is_loaded = True
            log.info("past usage loaded", extra={"runs": len(ledger) // 2})


def _load(address: str) -> tuple[UsageLedger, list[OpenRun]]:
    """Raises HistoryError."""
    from stromboli.history.usage.runs import load_runs

    database = open_for_reading(address)
    try:
        return load_runs(database)
    finally:
        database.close()
