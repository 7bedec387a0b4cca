"""Bind requests of a scheduler: written in request mode, and monitored and cleaned up in both modes."""

from __future__ import annotations

from collections.abc import Callable

from stromboli.binding.direct.workers import BindObserver
from stromboli.cluster.ingest.ingest import Ingest
from stromboli.core.config.bind_options import BindOptions
from stromboli.kube.client.client import Client
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.scheduler.bind_requests.avoided_nodes import AvoidedNodes
from stromboli.scheduler.bind_requests.builder import BindRequestBuilder
from stromboli.scheduler.bind_requests.deletions import RequestDeletions
from stromboli.scheduler.bind_requests.monitor import RequestMonitor
from stromboli.scheduler.bind_requests.writers import BindRequestWriters
from stromboli.scheduler.bind_tracker import BindTracker
from stromboli.scheduler.reporting.reporter import StatusReporter


class BindRequestService:
    """`scheduler` is the name under which this scheduler writes requests."""

    def __init__(
        self,
        client: Client,
        ingest: Ingest,
        tracker: BindTracker,
        reporting: StatusReporter,
        metrics: SchedulerMetrics,
        *,
        scheduler: str,
        is_leader: Callable[[], bool],
        clock: Callable[[], float],
        notify: Callable[[], None],
    ) -> None:
        self._client = client
        self._ingest = ingest
        self._metrics = metrics
        self._scheduler = scheduler
        self._avoided_nodes = AvoidedNodes(ingest.cluster, notify)
        self._deletions = RequestDeletions(client, is_leader, conflict=self._conflict)
        self.monitor = RequestMonitor(
            ingest.cluster, tracker, reporting, self._deletions, self._avoided_nodes, metrics,
            scheduler=scheduler, clock=clock,
        )  # fmt: skip
        self._notify_trigger = notify

    def writers(
        self, observer: BindObserver, *, epoch: Callable[[], int], options: Callable[[], BindOptions], workers: int
    ) -> BindRequestWriters:
        """Return the workers that write placements as bind requests."""
        builder = BindRequestBuilder(self._ingest.cluster, self._scheduler, epoch=epoch, options=options)
        return BindRequestWriters(
            self._client, self._ingest, observer, builder,
            workers=workers, written=self._metrics.requests_written, orphaned=self._deletions.add,
        )  # fmt: skip

    async def run(self) -> None:
        """Delete requests until cancelled."""
        await self._deletions.run()

    def request_changed(self, request: BindRequest, before: BindRequest | None) -> bool:
        """Process a watch event; report whether it may matter to a cycle."""
        return self.monitor.request_changed(request, before)

    def reconcile(self) -> None:
        """Process changed and overdue requests; only the leader calls it."""
        self.monitor.reconcile()

    def update_metrics(self) -> None:
        self._metrics.set_open_requests(self.monitor.open)

    def forget_gone(self) -> None:
        self._avoided_nodes.forget_gone()

    def _conflict(self, request: BindRequest) -> None:
        self.monitor.deletion_conflict(request)
        self._notify_trigger()
