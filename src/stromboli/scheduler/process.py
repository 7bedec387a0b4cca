"""A scheduler as a process."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.kube.client.client import Client
from stromboli.kube.election.leadership import Leadership
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.observability.process import Process, ProcessSettings
from stromboli.observability.signals import heard
from stromboli.scheduler.dumps import DumpWriter
from stromboli.scheduler.fencing import FencingCheck
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.policy import SchedulingPolicy


@dataclass(frozen=True, slots=True)
class SchedulerSettings(ProcessSettings):
    """What a process needs to know besides the behaviour of its scheduler."""

    policy: Callable[[SchedulerMetrics], SchedulingPolicy]
    options: SchedulerOptions
    #: Plugins of direct binding, besides the built-in ones.
    binder_plugins: Sequence[BinderPlugin] = ()


class SchedulerProcess(Process[Scheduler]):
    """Runs one scheduler."""

    name = "scheduler"

    def __init__(self, settings: SchedulerSettings) -> None:
        self.metrics = SchedulerMetrics()
        super().__init__(settings, self.metrics)
        self.policy = settings.policy(self.metrics)
        self._options = settings.options
        self._binder_plugins = settings.binder_plugins
        self._succession: FencingCheck | None = None

    def make(self, client: Client) -> Scheduler:
        return Scheduler(
            client,
            self.policy,
            self._options,
            metrics=self.metrics,
            binder_plugins=self._binder_plugins,
            is_leader=self.is_leader,
            epoch=self.epoch,
        )

    def close(self) -> None:
        self.policy.close()

    def is_leader(self) -> bool:
        """Without an election, always."""
        return self._succession is None or self._succession.is_leader()

    def elects(self, worker: Scheduler, leadership: Leadership) -> None:
        self._succession = FencingCheck(leadership, time.monotonic)
        worker.observe_term = self._succession.saw

    def checks(self, worker: Scheduler) -> None:
        if worker.shard is not None:
            keeper = worker.shard
            self.health.check_ready("shard", lambda: keeper.problem or None)

    def configuration(self, worker: Scheduler) -> dict[str, object]:
        configuration = self.policy.program.configuration
        return {
            "source": configuration.source,
            "actions": list(configuration.actions),
            "tiers": [[option.name for option in tier.plugins] for tier in configuration.tiers],
            "problem": self.policy.problem,
        }

    def signals(self, worker: Scheduler) -> contextlib.AbstractContextManager[None]:
        """Stop, read the policy again, dump, dump and compare."""
        dumping = DumpWriter(worker, worker.client)
        worker.health.dump = dumping.dump
        return heard(
            {
                signal.SIGTERM: worker.stop,
                signal.SIGINT: worker.stop,
                signal.SIGHUP: worker.reload_policy,
                signal.SIGUSR1: dumping.dump,
                signal.SIGUSR2: dumping.start_comparison,
            }
        )
