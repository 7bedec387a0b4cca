"""The binder process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.binding.process.crash_point_client import CrashPointClient
from stromboli.binding.requests.binder import Binder
from stromboli.binding.requests.metrics import BinderMetrics
from stromboli.binding.requests.wiring import BinderOptions
from stromboli.kube.client.client import Client
from stromboli.observability.process import LeaderProcess, ProcessSettings


@dataclass(frozen=True, slots=True)
class BinderSettings(ProcessSettings):
    """Settings of the process, with the options of its binder."""

    plugins: Sequence[BinderPlugin] = ()
    options: BinderOptions = field(default_factory=BinderOptions)


class BinderProcess(LeaderProcess[Binder]):
    """Runs one binder."""

    name = "binder"
    client = CrashPointClient

    def __init__(self, settings: BinderSettings) -> None:
        self.metrics = BinderMetrics()
        super().__init__(settings, self.metrics)
        self._plugins = settings.plugins
        self._options = settings.options

    def make(self, client: Client) -> Binder:
        return Binder(
            client, self._plugins, self._options,
            metrics=self.metrics, is_leader=self.is_leader, epoch=self.epoch,
        )  # fmt: skip

    def configuration(self, worker: Binder) -> dict[str, object]:
        return {"plugins": {each.name: each.options for each in worker.plugins}}
