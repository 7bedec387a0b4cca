"""A scheduler as a process, with a fencing check on top of its lease.

The lease determines the leader, which checks by its own clock whether its lease is still valid. In addition, members
of gangs carry the term of the leader that bound them. A later term than its own belongs to a successor: the process
then writes nothing until the server has confirmed the lease. A forged term costs no more than one renewal.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.kube.client.client import Client
from stromboli.kube.election.leadership import Leadership
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.observability.process import ExitStatus, LeaderProcess, ProcessSettings
from stromboli.observability.signals import signal_handlers
from stromboli.scheduler.answers import answering_server
from stromboli.scheduler.dumps import DumpWriter
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.policy import ActivePolicy
from stromboli.scheduler.set_aside import ANNOTATION
from stromboli.scheduler.watchdog import Watchdog, where_thread_is
from stromboli.visibility.server import VisibilityServer

log = logging.getLogger("stromboli.scheduler")


class LeaseView(Protocol):
    """The state of this process's lease."""

    @property
    def is_leading(self) -> bool: ...

    @property
    def epoch(self) -> int: ...

    @property
    def renewed_at(self) -> float:
        """When the last successful renewal was sent."""

    def renew_now(self) -> None:
        """Renew the lease now."""


class FencingCheck:
    """Decides whether this process may write."""

    def __init__(self, lease: LeaseView, clock: Callable[[], float]) -> None:
        self._lease = lease
        self._clock = clock
        self._newest = -1
        self._suspended_at = float("-inf")

    def is_leader(self) -> bool:
        return self._lease.is_leading and self._lease.renewed_at > self._suspended_at

    def observe(self, term: int) -> None:
        """A pod was bound by the leader of this term."""
        if term <= max(self._newest, self._lease.epoch):
            return
        self._newest = term
        if self._lease.is_leading:
            log.warning("pod bound in a later term; renewing the lease", extra={"epoch": term})
            self._suspended_at = self._clock()
            self._lease.renew_now()


@dataclass(frozen=True, slots=True)
class SchedulerSettings(ProcessSettings):
    """Settings of the process besides the options of its scheduler."""

    policy: Callable[[SchedulerMetrics], ActivePolicy]
    options: SchedulerOptions
    #: Plugins of direct binding, besides the built-in ones.
    binder_plugins: Sequence[BinderPlugin] = ()
    #: Where people ask who may not read the cluster; empty for nowhere.
    visibility_address: str = ""


class SchedulerProcess(LeaderProcess[Scheduler]):
    """Runs one scheduler."""

    name = "scheduler"

    def __init__(self, settings: SchedulerSettings) -> None:
        self.metrics = SchedulerMetrics()
        super().__init__(settings, self.metrics)
        self.policy = settings.policy(self.metrics)
        self._options = settings.options
        self._binder_plugins = settings.binder_plugins
        self._visibility = settings.visibility_address
        self._succession: FencingCheck | None = None
        self._watchdog: Watchdog | None = None

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
        if self._watchdog is not None:
            self._watchdog.stop()
        self.policy.close()

    # -- a stuck loop -------------------------------------------------------------------------------------------

    def _start_watchdog(self, worker: Scheduler) -> None:
        loop = threading.get_ident()
        self._watchdog = Watchdog(
            worker.cycles.progress,
            self._options.stuck_after,
            lambda job, seconds: self._give_up(worker, job, seconds, where_thread_is(loop)),
        )
        self.health.check_ready("cycle", self._watchdog.problem)
        self._watchdog.start()

    def _give_up(self, worker: Scheduler, job: str, seconds: float, place: str) -> None:
        """Leave the lease to another process, with a note about the job, and exit: the loop cannot be interrupted."""
        facts = {"job": job, "seconds": round(seconds), "at": place}
        log.critical("scheduling loop stuck; giving up the lease and exiting", extra=facts)
        try:
            if job:
                worker.set_aside.blame(job, seconds)
            if self.leadership is not None:
                self.leadership.stop()
            logging.shutdown()
        finally:
            os._exit(ExitStatus.STUCK)

    def is_leader(self) -> bool:
        """Report whether this process leads; always without an election."""
        return self._succession is None or self._succession.is_leader()

    def on_election(self, worker: Scheduler, leadership: Leadership) -> None:
        self._succession = FencingCheck(leadership, time.monotonic)
        worker.observe_term = self._succession.observe
        worker.set_aside.saved = lambda: leadership.annotations.get(ANNOTATION, "")
        worker.set_aside.save = lambda text: leadership.annotate({ANNOTATION: text or None})

    def checks(self, worker: Scheduler) -> None:
        if self._options.stuck_after:
            self._start_watchdog(worker)
        if worker.shard is not None:
            keeper = worker.shard
            self.health.check_ready("shard", lambda: keeper.problem or None)

    @contextlib.contextmanager
    def further_addresses(self, worker: Scheduler) -> Iterator[VisibilityServer | None]:
        """Answer people who may not read the cluster."""
        if not self._visibility:
            yield None
            return
        server = answering_server(self._visibility, worker, self._settings.connect, tls=self._settings.tls)
        server.start()
        log.info("endpoint started", extra={"endpoint": server.name, "url": f"https://{server.address}"})
        try:
            yield server
        finally:
            server.stop()

    def configuration(self, worker: Scheduler) -> dict[str, object]:
        configuration = self.policy.program.configuration
        return {
            "source": configuration.source,
            "actions": list(configuration.actions),
            "tiers": [[option.name for option in tier.plugins] for tier in configuration.tiers],
            "problem": self.policy.problem,
            "warnings": list(self.policy.warnings),
        }

    def signals(self, worker: Scheduler) -> contextlib.AbstractContextManager[None]:
        """Handle signals: stop, reload the policy, dump, dump and compare."""
        dumping = DumpWriter(worker, worker.client)
        worker.health.dump = dumping.dump
        return signal_handlers(
            {
                signal.SIGTERM: worker.stop,
                signal.SIGINT: worker.stop,
                signal.SIGHUP: worker.reload_policy,
                signal.SIGUSR1: dumping.dump,
                signal.SIGUSR2: dumping.start_comparison,
            }
        )
