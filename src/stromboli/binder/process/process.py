"""A binder as a process: connection, election, endpoints, signals, and an end in good order.

The watches run from the beginning, so that whoever gets the lease can begin at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import gc
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from stromboli.binder.plugin import BinderPlugin
from stromboli.binder.process.marked_client import MarkedClient
from stromboli.binder.requests.binder import Binder
from stromboli.binder.requests.metrics import BinderMetrics
from stromboli.binder.requests.options import BinderOptions
from stromboli.kube.access.connection import Connection
from stromboli.operations.endpoints import Endpoints
from stromboli.operations.health import Health, Heartbeat
from stromboli.operations.leadership import Election, Leadership
from stromboli.operations.signals import stopped_by_signal

#: A loop that has not come round for so long, in seconds, is stuck.
STUCK = 120.0

log = logging.getLogger("stromboli.binder")


class Ending(enum.IntEnum):
    """How a process ended; the value is its exit code."""

    STOPPED = 0
    FAILED = 1
    LEADERSHIP_LOST = 4


@dataclass(frozen=True, slots=True)
class BinderSettings:
    """What a process needs to know besides the behaviour of its binder. `connect` is called once per user."""

    connect: Callable[[], Connection]
    plugins: Sequence[BinderPlugin] = ()
    options: BinderOptions = field(default_factory=BinderOptions)
    election: Election | None = None
    metrics_address: str = ""
    health_address: str = ""
    api_rate: float = 0.0
    api_burst: int = 0


class BinderProcess:
    """Runs one binder until a signal, an error or the loss of leadership ends it."""

    def __init__(self, settings: BinderSettings) -> None:
        self.settings = settings
        self.metrics = BinderMetrics()
        self.health = Health()
        self._ending = Ending.STOPPED
        self._leadership: Leadership | None = None
        self._running: asyncio.Task[None] | None = None

    async def run(self) -> Ending:
        settings = self.settings
        rate, burst = settings.api_rate, settings.api_burst
        async with MarkedClient(settings.connect(), qps=rate, burst=burst, may_write=self._is_in_charge) as client:
            binder = Binder(
                client, settings.plugins, settings.options,
                metrics=self.metrics, is_in_charge=self._is_in_charge, epoch=self._epoch,
            )  # fmt: skip
            with self._endpoints(binder), self._elected(binder), stopped_by_signal(binder.stop):
                self._running = asyncio.ensure_future(binder.run())
                freezing = asyncio.ensure_future(_freeze_when_synced(binder))
                await self._wait()
                freezing.cancel()
        return self._ending

    async def _wait(self) -> None:
        assert self._running is not None  # noqa: S101
        try:
            await self._running
        except asyncio.CancelledError:
            if self._ending is Ending.STOPPED:
                raise
        except BaseExceptionGroup as group:
            self._ending = Ending.FAILED
            log.error("the binder failed", exc_info=group)

    def _is_in_charge(self) -> bool:
        """Without an election, always."""
        return self.settings.election is None or (self._leadership is not None and self._leadership.is_leading)

    def _epoch(self) -> int:
        return self._leadership.epoch if self._leadership else 0

    @contextlib.contextmanager
    def _elected(self, binder: Binder) -> Iterator[None]:
        election = self.settings.election
        if election is None:
            self._lead(binder)
            yield
            return
        loop = asyncio.get_running_loop()
        self._leadership = Leadership(
            self.settings.connect(),
            election,
            won=lambda: loop.call_soon_threadsafe(self._lead, binder),
            lost=lambda: loop.call_soon_threadsafe(self._leave),
        )
        self._leadership.start()
        try:
            yield
        finally:
            self._leadership.stop()

    def _lead(self, binder: Binder) -> None:
        log.info("leading", extra={"epoch": self._epoch()})
        self.metrics.set_leader(True)
        binder.lead()

    def _leave(self) -> None:
        """Nothing is written any more; what was under way is for the next leader to find out."""
        log.error("leadership is lost")
        self.metrics.set_leader(False)
        self._ending = Ending.LEADERSHIP_LOST
        if self._running is not None:
            self._running.cancel()

    @contextlib.contextmanager
    def _endpoints(self, binder: Binder) -> Iterator[None]:
        turns = Heartbeat("the binder's loop", STUCK, time.monotonic)
        binder.turned = turns.beat
        self.health.check_alive("loop", turns)
        self.health.check_ready("watches", binder.watches.problem)
        if self.settings.election is not None:
            self.health.check_ready("election", lambda: (self._leadership and self._leadership.problem) or None)
        endpoints = Endpoints(
            self.metrics, self.health,
            metrics_address=self.settings.metrics_address, health_address=self.settings.health_address,
            configuration=lambda: {"plugins": {each.name: each.options for each in binder.plugins}},
        )  # fmt: skip
        endpoints.start()
        for name, path in (("metrics", "metrics"), ("health", "readyz")):
            if name in endpoints.addresses:
                log.info("%s: http://%s/%s", name, endpoints.addresses[name], path)
        try:
            yield
        finally:
            endpoints.stop()


async def _freeze_when_synced(binder: Binder) -> None:
    """What was there from the beginning mostly stays: the cycle collector need not look at it again and again."""
    await binder.watches.wait_until_synced()
    gc.collect()
    gc.freeze()
