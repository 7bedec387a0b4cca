"""A process that works while it leads: connection, election, endpoints, signals, and an end in good order.

What it works at is a `Worker`, which a derived class makes. The worker's watches run from the beginning, so that
whoever gets the lease can begin at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import gc
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Protocol, TypeVar

from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.election.leadership import Election, Leadership
from stromboli.observability.endpoints import Endpoints, MetricsRenderer
from stromboli.observability.health import Health, Heartbeat
from stromboli.observability.signals import stopped_by_signal

#: A loop that has not come round for so long, in seconds, is stuck.
STUCK = 120.0


class Ending(enum.IntEnum):
    """How a process ended; the value is its exit code."""

    STOPPED = 0
    FAILED = 1
    LEADERSHIP_LOST = 4


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """What any such process needs to know. `connect` is called once per user of a connection."""

    connect: Callable[[], Connection]
    election: Election | None = field(default=None, kw_only=True)
    metrics_address: str = field(default="", kw_only=True)
    health_address: str = field(default="", kw_only=True)
    api_rate: float = field(default=0.0, kw_only=True)
    api_burst: int = field(default=0, kw_only=True)


class WatchState(Protocol):
    """What a worker knows of the cluster."""

    async def wait_until_synced(self) -> None:
        """Until everything was listed once."""

    def problem(self) -> str | None:
        """Why it does not know enough, if so."""


class Worker(Protocol):
    """Who does the work."""

    #: Called every time its loop comes round.
    on_iteration: Callable[[], None]

    @property
    def watches(self) -> WatchState: ...

    async def run(self) -> None:
        """Work until `stop`, then finish what is under way."""

    def lead(self) -> None:
        """We are in charge now."""

    def stop(self) -> None:
        """Begin nothing more."""


class LeaderGauge(MetricsRenderer, Protocol):
    """Metrics that say who leads."""

    def set_leader(self, leads: bool) -> None: ...


W = TypeVar("W", bound=Worker)


class Process(Generic[W]):
    """Runs one worker until a signal, an error or the loss of leadership ends it."""

    #: What it is, as people call it.
    name: ClassVar[str]
    #: How it talks to the server.
    client: ClassVar[type[Client]] = Client

    def __init__(self, settings: ProcessSettings, metrics: LeaderGauge) -> None:
        self._given = settings
        self._gauge = metrics
        self._log = logging.getLogger(f"stromboli.{self.name}")
        self.health = Health()
        self.endpoints: Endpoints | None = None
        self.leadership: Leadership | None = None
        self._ending = Ending.STOPPED
        self._running: asyncio.Task[None] | None = None

    # -- what is special about it -------------------------------------------------------------------------------

    def make(self, client: Client) -> W:
        """The worker."""
        raise NotImplementedError

    def configuration(self, worker: W) -> dict[str, object]:
        """What people see who ask how it is configured."""
        raise NotImplementedError

    def signals(self, worker: W) -> contextlib.AbstractContextManager[None]:
        """What it does on which signal."""
        return stopped_by_signal(worker.stop)

    def elects(self, worker: W, leadership: Leadership) -> None:
        """An election is about to begin."""

    def checks(self, worker: W) -> None:
        """Besides the loop, the watches and the election, what has to be well so that it is."""

    def close(self) -> None:
        """The work is over."""

    # -- life ---------------------------------------------------------------------------------------------------

    async def run(self) -> Ending:
        given = self._given
        client = self.client(given.connect(), qps=given.api_rate, burst=given.api_burst, may_write=self.is_leader)
        async with client:
            worker = self.make(client)
            with self._served(worker), self._elected(worker), self.signals(worker):
                self._running = asyncio.ensure_future(worker.run())
                freezing = asyncio.ensure_future(_freeze_when_synced(worker.watches))
                await self._wait(self._running)
                freezing.cancel()
        self.close()
        return self._ending

    async def _wait(self, running: asyncio.Task[None]) -> None:
        try:
            await running
        except asyncio.CancelledError:
            if self._ending is Ending.STOPPED:
                raise
        except BaseExceptionGroup as group:
            self._ending = Ending.FAILED
            self._log.error("process failed", exc_info=group)

    # -- leadership ---------------------------------------------------------------------------------------------

    def is_leader(self) -> bool:
        """Without an election, always."""
        return self._given.election is None or (self.leadership is not None and self.leadership.is_leading)

    def epoch(self) -> int:
        """The term in which we lead; 0 without an election."""
        return self.leadership.epoch if self.leadership else 0

    @contextlib.contextmanager
    def _elected(self, worker: W) -> Iterator[None]:
        election = self._given.election
        if election is None:
            self._lead(worker)
            yield
            return
        loop = asyncio.get_running_loop()
        self.leadership = Leadership(
            self._given.connect(),
            election,
            won=lambda: loop.call_soon_threadsafe(self._lead, worker),
            lost=lambda: loop.call_soon_threadsafe(self._leave),
        )
        self.elects(worker, self.leadership)
        self.leadership.start()
        try:
            yield
        finally:
            self.leadership.stop()

    def _lead(self, worker: W) -> None:
        if self.leadership is not None:
            self._log.info("leadership acquired", extra={"epoch": self.epoch()})
        self._gauge.set_leader(True)
        worker.lead()

    def _leave(self) -> None:
        """Nothing is written any more; what was under way is for the next leader to find out."""
        self._log.error("leadership lost")
        self._gauge.set_leader(False)
        self._ending = Ending.LEADERSHIP_LOST
        if self._running is not None:
            self._running.cancel()

    # -- endpoints ----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _served(self, worker: W) -> Iterator[None]:
        turns = Heartbeat(f"the {self.name}'s loop", STUCK, time.monotonic)
        worker.on_iteration = turns.beat
        self.health.check_alive("loop", turns)
        self.health.check_ready("watches", worker.watches.problem)
        self.checks(worker)
        if self._given.election is not None:
            self.health.check_ready("election", lambda: (self.leadership and self.leadership.problem) or None)
        endpoints = self.endpoints = Endpoints(
            self._gauge,
            self.health,
            metrics_address=self._given.metrics_address,
            health_address=self._given.health_address,
            configuration=lambda: self.configuration(worker),
        )
        endpoints.start()
        for name, path in (("metrics", "metrics"), ("health", "readyz")):
            if name in endpoints.addresses:
                self._log.info(
                    "endpoint started", extra={"endpoint": name, "url": f"http://{endpoints.addresses[name]}/{path}"}
                )
        try:
            yield
        finally:
            endpoints.stop()


async def _freeze_when_synced(watches: WatchState) -> None:
    """What was there from the beginning mostly stays: the cycle collector need not look at it again and again."""
    await watches.wait_until_synced()
    gc.collect()
    gc.freeze()
