"""A scheduler as a process: connection, election, endpoints, signals, and an end in good order."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import gc
import logging
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stromboli.kube.access.client import Client
from stromboli.kube.access.connection import Connection
from stromboli.operations.endpoints import Endpoints
from stromboli.operations.health import Health, Heartbeat
from stromboli.operations.leadership import Election, Leadership
from stromboli.operations.metrics import Metrics
from stromboli.operations.signals import heard
from stromboli.scheduler.dumping import Dumping
from stromboli.scheduler.options import Options
from stromboli.scheduler.policy import Policy
from stromboli.scheduler.scheduler import Scheduler
from stromboli.scheduler.succession import Succession

#: A loop that has not come round for so long, in seconds, is stuck.
STUCK = 120.0

log = logging.getLogger("stromboli.scheduler")


class Ending(enum.IntEnum):
    """How a process ended; the value is its exit code."""

    STOPPED = 0
    FAILED = 1
    LEADERSHIP_LOST = 4


@dataclass(frozen=True, slots=True)
class Settings:
    """What a process needs to know besides the behaviour of its scheduler. `connect` is called once per user."""

    connect: Callable[[], Connection]
    policy: Callable[[Metrics], Policy]
    options: Options
    election: Election | None = None
    metrics_address: str = ""
    health_address: str = ""
    api_rate: float = 0.0
    api_burst: int = 0


class Process:
    """Runs one scheduler until a signal, an error or the loss of leadership ends it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.health = Health()
        self.policy = settings.policy(self.metrics)
        self.endpoints: Endpoints | None = None
        self._ending = Ending.STOPPED
        self._leadership: Leadership | None = None
        self._succession: Succession | None = None
        self._running: asyncio.Task[None] | None = None

    async def run(self) -> Ending:
        settings = self.settings
        rate, burst = settings.api_rate, settings.api_burst
        async with Client(settings.connect(), qps=rate, burst=burst, may_write=self._is_in_charge) as client:
            scheduler = Scheduler(
                client,
                self.policy,
                settings.options,
                metrics=self.metrics,
                is_in_charge=self._is_in_charge,
                epoch=self._epoch,
            )
            dumping = Dumping(scheduler, client)
            scheduler.dump = dumping.dump
            with self._endpoints(scheduler), self._elected(scheduler), _signals(scheduler, dumping):
                self._running = asyncio.ensure_future(scheduler.run())
                freezing = asyncio.ensure_future(_freeze_when_synced(scheduler))
                await self._wait(scheduler)
                freezing.cancel()
        self.policy.close()
        return self._ending

    async def _wait(self, scheduler: Scheduler) -> None:
        assert self._running is not None  # noqa: S101
        try:
            await self._running
        except asyncio.CancelledError:
            if self._ending is Ending.STOPPED:
                raise
        except BaseExceptionGroup as group:
            self._ending = Ending.FAILED
            log.error("the scheduler failed", exc_info=group)

    # -- leadership ---------------------------------------------------------------------------------------------

    def _is_in_charge(self) -> bool:
        """Without an election, always."""
        return self._succession is None or self._succession.is_in_charge()

    def _epoch(self) -> int:
        return self._leadership.epoch if self._leadership else 0

    @contextlib.contextmanager
    def _elected(self, scheduler: Scheduler) -> Iterator[None]:
        election = self.settings.election
        if election is None:
            self.metrics.set_leader(True)
            yield
            return
        loop = asyncio.get_running_loop()
        self._leadership = Leadership(
            self.settings.connect(),
            election,
            won=lambda: loop.call_soon_threadsafe(self._lead, scheduler),
            lost=lambda: loop.call_soon_threadsafe(self._leave),
        )
        self._succession = Succession(self._leadership, time.monotonic)
        scheduler.saw_term = self._succession.saw
        self._leadership.start()
        try:
            yield
        finally:
            self._leadership.stop()

    def _lead(self, scheduler: Scheduler) -> None:
        log.info("leading", extra={"epoch": self._epoch()})
        self.metrics.set_leader(True)
        scheduler.alarm.ring()

    def _leave(self) -> None:
        """Nothing is written any more; what was under way is for the next leader to find out."""
        log.error("leadership is lost")
        self.metrics.set_leader(False)
        self._ending = Ending.LEADERSHIP_LOST
        if self._running is not None:
            self._running.cancel()

    # -- endpoints ----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _endpoints(self, scheduler: Scheduler) -> Iterator[None]:
        loop_turns = Heartbeat("the scheduler's loop", STUCK, time.monotonic)
        scheduler.turned = loop_turns.beat
        self.health.check_alive("loop", loop_turns)
        self.health.check_ready("watches", scheduler.feed.problem)
        if scheduler.shard is not None:
            keeper = scheduler.shard
            self.health.check_ready("shard", lambda: keeper.problem or None)
        if self.settings.election is not None:
            self.health.check_ready("election", lambda: (self._leadership and self._leadership.problem) or None)
        endpoints = self.endpoints = Endpoints(
            self.metrics,
            self.health,
            metrics_address=self.settings.metrics_address,
            health_address=self.settings.health_address,
            configuration=lambda: _configuration(self.policy),
        )
        endpoints.start()
        for name, path in (("metrics", "metrics"), ("health", "readyz")):
            if name in endpoints.addresses:
                log.info("%s: http://%s/%s", name, endpoints.addresses[name], path)
        try:
            yield
        finally:
            endpoints.stop()


def _configuration(policy: Policy) -> dict[str, object]:
    configuration = policy.program.configuration
    return {
        "source": configuration.source,
        "actions": list(configuration.actions),
        "tiers": [[option.name for option in tier.plugins] for tier in configuration.tiers],
        "problem": policy.problem,
    }


async def _freeze_when_synced(scheduler: Scheduler) -> None:
    """What was there from the beginning mostly stays: the cycle collector need not look at it again and again."""
    await scheduler.feed.wait_until_synced()
    gc.collect()
    gc.freeze()


def _signals(scheduler: Scheduler, dumping: Dumping) -> contextlib.AbstractContextManager[None]:
    """Stop, read the policy again, dump, dump and compare."""
    return heard(
        {
            signal.SIGTERM: scheduler.stop,
            signal.SIGINT: scheduler.stop,
            signal.SIGHUP: scheduler.read_policy_again,
            signal.SIGUSR1: dumping.dump,
            signal.SIGUSR2: dumping.start_comparison,
        }
    )
