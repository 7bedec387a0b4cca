"""Bind requests in the life of a scheduler: written where that is its mode, and looked after in either."""

from __future__ import annotations

from collections.abc import Callable

from stromboli.binding.direct.workers import Ledger
from stromboli.cluster.ingest.ingest import Mirror
from stromboli.core.config.bind_options import BindOptions
from stromboli.kube.client.client import Client
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.observability.metrics.scheduler import Metrics
from stromboli.scheduler.bind_requests.avoided_nodes import Avoidance
from stromboli.scheduler.bind_requests.builder import RequestMaker
from stromboli.scheduler.bind_requests.deletions import RequestDeletions
from stromboli.scheduler.bind_requests.monitor import RequestKeeper
from stromboli.scheduler.bind_requests.writers import RequestWorkers
from stromboli.scheduler.bind_tracker import Outcomes
from stromboli.scheduler.reporting.reporter import Reporting


class Requests:
    """`scheduler` is by whom requests say that they were decided."""

    def __init__(
        self,
        client: Client,
        mirror: Mirror,
        outcomes: Outcomes,
        reporting: Reporting,
        metrics: Metrics,
        *,
        scheduler: str,
        is_in_charge: Callable[[], bool],
        clock: Callable[[], float],
        ring: Callable[[], None],
    ) -> None:
        self._client = client
        self._mirror = mirror
        self._metrics = metrics
        self._scheduler = scheduler
        self._avoidance = Avoidance(mirror.cluster, ring)
        self._deletions = RequestDeletions(client, is_in_charge, refused=self._look_again)
        self.keeper = RequestKeeper(
            mirror.cluster, outcomes, reporting, self._deletions, self._avoidance, metrics,
            scheduler=scheduler, clock=clock,
        )  # fmt: skip
        self._ring = ring

    def writers(
        self, ledger: Ledger, *, epoch: Callable[[], int], options: Callable[[], BindOptions], workers: int
    ) -> RequestWorkers:
        """Those who write down what was decided."""
        maker = RequestMaker(self._mirror.cluster, self._scheduler, epoch=epoch, options=options)
        return RequestWorkers(
            self._client, self._mirror, ledger, maker,
            workers=workers, written=self._metrics.requests_written, left_over=self._deletions.want,
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
        self._avoidance.forget_gone()

    def _look_again(self, request: BindRequest) -> None:
        self.keeper.look_again(request)
        self._ring()
