"""Bind requests in the life of a scheduler: written where that is its mode, and looked after in either."""

from __future__ import annotations

from collections.abc import Callable

from stromboli.binding.direct.workers import BindObserver
from stromboli.cluster.ingest.ingest import Mirror
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


class Requests:
    """`scheduler` is by whom requests say that they were decided."""

    def __init__(
        self,
        client: Client,
        mirror: Mirror,
        outcomes: BindTracker,
        reporting: StatusReporter,
        metrics: SchedulerMetrics,
        *,
        scheduler: str,
        is_leader: Callable[[], bool],
        clock: Callable[[], float],
        ring: Callable[[], None],
    ) -> None:
        self._client = client
        self._mirror = mirror
        self._metrics = metrics
        self._scheduler = scheduler
        self._avoided_nodes = AvoidedNodes(mirror.cluster, ring)
        self._deletions = RequestDeletions(client, is_leader, refused=self._look_again)
        self.keeper = RequestMonitor(
            mirror.cluster, outcomes, reporting, self._deletions, self._avoided_nodes, metrics,
            scheduler=scheduler, clock=clock,
        )  # fmt: skip
        self._notify_trigger = ring

    def writers(
        self, ledger: BindObserver, *, epoch: Callable[[], int], options: Callable[[], BindOptions], workers: int
    ) -> BindRequestWriters:
        """Those who write down what was decided."""
        maker = BindRequestBuilder(self._mirror.cluster, self._scheduler, epoch=epoch, options=options)
        return BindRequestWriters(
            self._client, self._mirror, ledger, maker,
            workers=workers, written=self._metrics.requests_written, orphaned=self._deletions.want,
        )  # fmt: skip

    async def run(self) -> None:
        """Until cancelled."""
        await self._deletions.run()

    def heard(self, request: BindRequest, before: BindRequest | None) -> bool:
        """A request was reported; whether there is news for a cycle in it."""
        return self.keeper.heard(request, before)

    def look(self) -> None:
        """For whoever is in charge: what there is to do about requests that have changed, or whose time is up."""
        self.keeper.look()

    def show(self) -> None:
        self._metrics.set_open_requests(self.keeper.open)

    def forget_gone(self) -> None:
        self._avoided_nodes.forget_gone()

    def _look_again(self, request: BindRequest) -> None:
        self.keeper.look_again(request)
        self._notify_trigger()
