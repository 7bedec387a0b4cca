"""The metrics of the controllers: their work, its results and durations, and their watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from stromboli.controllers.wiring import Controllers
from stromboli.observability.metrics.process import ProcessMetrics

_SUCCEEDED, _FAILED = "succeeded", "failed"


class ControllerMetrics(ProcessMetrics):
    prefix: ClassVar[str] = "stromboli_controller_"

    def __init__(self) -> None:
        super().__init__()
        self._define_watching()
        self._syncs = self._counter("syncs", "Reconciliations, by controller and result.", "controller", "result")
        self._seconds_of_syncs = self._seconds("sync_duration", "Time of a reconciliation.", "controller")
        self._retrying = self._gauge("retrying", "Objects whose last reconciliation failed.", "controller")
        self._controllers: Controllers | None = None

    def observe(self, controllers: Controllers) -> None:
        """Measure these controllers, before they run."""
        self._controllers = controllers
        for name, work in controllers.work.items():
            work.on_attempt = self._attempts_of(name)

    def _attempts_of(self, name: str) -> Callable[[float, bool], None]:
        succeeded, failed = (self._syncs.labels(name, result) for result in (_SUCCEEDED, _FAILED))
        seconds_of_syncs = self._seconds_of_syncs.labels(name)

        def attempted(seconds: float, has_succeeded: bool) -> None:
            (succeeded if has_succeeded else failed).inc()
            seconds_of_syncs.observe(seconds)

        return attempted

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Read the lengths of the queues when they are asked for; another thread may change them meanwhile."""
        if self._controllers is not None:
            for name, work in self._controllers.work.items():
                self.set_pending_work(name, work.waiting)
                self._retrying.labels(name).set(work.retrying)
            problems: dict[str, str] = {}
            for resource, informer in self._controllers.informers.items():
                problems[resource.name] = problems.get(resource.name) or informer.problem
            for resource_name, problem in problems.items():
                self.set_watch_up(resource_name, not problem)
        return super().render(accept)
