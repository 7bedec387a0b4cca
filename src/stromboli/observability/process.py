"""A process that works while it leads: connection, election, endpoints, signals, and an orderly end.

A derived class makes the `Worker`. Its watches run from the start, so that a new leader can work at once.
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
from stromboli.kube.work.collection import collect_young_objects
from stromboli.observability.endpoints import Endpoints, MetricsRenderer
from stromboli.observability.health import Health, Heartbeat
from stromboli.observability.signals import stopped_by_signal
from stromboli.serving.guard import ALWAYS_ALLOWED, AccessControl
from stromboli.serving.tls import TlsSettings

#: The seconds without an iteration after which a loop counts as stuck.
STUCK = 120.0


class ExitStatus(enum.IntEnum):
    """The result of a process; the value is its exit code."""

    STOPPED = 0
    FAILED = 1
    LEADERSHIP_LOST = 5
    #: A cycle did not end; the process gave up its lease.
    STUCK = 6


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """Settings of every such process. `connect` is called once per user of a connection."""

    connect: Callable[[], Connection]
    election: Election | None = field(default=None, kw_only=True)
    metrics_address: str = field(default="", kw_only=True)
    health_address: str = field(default="", kw_only=True)
    #: Paths that need no token at a metrics address that other machines reach.
    always_allowed_paths: tuple[str, ...] = field(default=ALWAYS_ALLOWED, kw_only=True)
    tls: TlsSettings = field(default_factory=TlsSettings, kw_only=True)
    api_rate: float = field(default=0.0, kw_only=True)
    api_burst: int = field(default=0, kw_only=True)


class WatchState(Protocol):
    """The watches of a worker."""

    async def wait_until_synced(self) -> None:
        """Wait until everything was listed once."""

    def problem(self) -> str | None:
        """Return why the watches are not up to date, if so."""


class Worker(Protocol):
    """The main component of a process."""

    #: Called in every iteration of its loop.
    on_iteration: Callable[[], None]

    @property
    def watches(self) -> WatchState: ...

    async def run(self) -> None:
        """Work until `stop`, then finish what has started."""

    def lead(self) -> None:
        """Start to work as the leader."""

    def stop(self) -> None:
        """Start nothing more."""


class LeaderGauge(MetricsRenderer, Protocol):
    """Metrics with the leader gauge."""

    def set_leader(self, leads: bool) -> None: ...


W = TypeVar("W", bound=Worker)


class LeaderProcess(Generic[W]):
    """Runs one worker until a signal, an error or the loss of leadership ends it."""

    #: The name of the process.
    name: ClassVar[str]
    #: The client that it uses.
    client: ClassVar[type[Client]] = Client

    def __init__(self, settings: ProcessSettings, metrics: LeaderGauge) -> None:
        self._settings = settings
        self._gauge = metrics
        self._log = logging.getLogger(f"stromboli.{self.name}")
        self.health = Health()
        self.endpoints: Endpoints | None = None
        self.leadership: Leadership | None = None
        self._exit_status = ExitStatus.STOPPED
        self._running: asyncio.Task[None] | None = None

    # -- overridden by subclasses -------------------------------------------------------------------------------

    def make(self, client: Client) -> W:
        """Build the worker."""
        raise NotImplementedError

    def configuration(self, worker: W) -> dict[str, object]:
        """Return the configuration for /configz."""
        raise NotImplementedError

    def signals(self, worker: W) -> contextlib.AbstractContextManager[None]:
        """Handle signals."""
        return stopped_by_signal(worker.stop)

    def on_election(self, worker: W, leadership: Leadership) -> None:
        """Called before an election starts."""

    def checks(self, worker: W) -> None:
        """Add checks besides those of the loop, the watches and the election."""

    def further_addresses(self, worker: W) -> contextlib.AbstractContextManager[object]:
        """Serve more than metrics and health while the worker runs."""
        return contextlib.nullcontext()

    def close(self) -> None:
        """Called after the work has ended."""

    # -- lifecycle ----------------------------------------------------------------------------------------------

    async def run(self) -> ExitStatus:
        given = self._settings
        client = self.client(given.connect(), qps=given.api_rate, burst=given.api_burst, may_write=self.is_leader)
        async with client:
            worker = self.make(client)
            with self._served(worker), self.further_addresses(worker), self._elected(worker), self.signals(worker):
                self._running = asyncio.ensure_future(worker.run())
                collecting = asyncio.ensure_future(_collect_garbage(worker.watches))
                await self._wait(self._running)
                collecting.cancel()
        self.close()
        return self._exit_status

    async def _wait(self, running: asyncio.Task[None]) -> None:
        try:
            await running
        except asyncio.CancelledError:
            if self._exit_status is ExitStatus.STOPPED:
                raise
        except BaseExceptionGroup as group:
            self._exit_status = ExitStatus.FAILED
            self._log.error("process failed", exc_info=group)

    # -- leadership ---------------------------------------------------------------------------------------------

    def is_leader(self) -> bool:
        """Report whether this process leads; always without an election."""
        return self._settings.election is None or (self.leadership is not None and self.leadership.is_leading)

    def epoch(self) -> int:
        """The term in which this process leads; 0 without an election."""
        return self.leadership.epoch if self.leadership else 0

    @contextlib.contextmanager
    def _elected(self, worker: W) -> Iterator[None]:
        election = self._settings.election
        if election is None:
            self._lead(worker)
            yield
            return
        loop = asyncio.get_running_loop()
        self.leadership = Leadership(
            self._settings.connect(),
            election,
            won=lambda: loop.call_soon_threadsafe(self._lead, worker),
            lost=lambda: loop.call_soon_threadsafe(self._leave),
        )
        self.on_election(worker, self.leadership)
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
        """Stop at once: the next leader finds out about calls in progress."""
        self._log.error("leadership lost")
        self._gauge.set_leader(False)
        self._exit_status = ExitStatus.LEADERSHIP_LOST
        if self._running is not None:
            self._running.cancel()

    # -- endpoints ----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _served(self, worker: W) -> Iterator[None]:
        heartbeat = Heartbeat(f"the {self.name}'s loop", STUCK, time.monotonic)
        worker.on_iteration = heartbeat.beat
        self.health.check_alive("loop", heartbeat)
        self.health.check_ready("watches", worker.watches.problem)
        self.checks(worker)
        if self._settings.election is not None:
            self.health.check_ready("election", lambda: (self.leadership and self.leadership.problem) or None)
        endpoints = self.endpoints = Endpoints(
            self._gauge,
            self.health,
            metrics_address=self._settings.metrics_address,
            health_address=self._settings.health_address,
            configuration=lambda: self.configuration(worker),
            access=AccessControl(self._settings.connect, self._settings.always_allowed_paths),
            tls=self._settings.tls,
        )
        endpoints.start()
        for name, path in (("metrics", "metrics"), ("health", "readyz")):
            if name in endpoints.addresses:
                self._log.info("endpoint started", extra={"endpoint": name, "url": f"{endpoints.url(name)}/{path}"})
        try:
            yield
        finally:
            endpoints.stop()


async def _collect_garbage(watches: WatchState) -> None:
    """Exempt the initial objects from garbage collection: most of them stay. Then collect among the others."""
    await watches.wait_until_synced()
    gc.collect()
    gc.freeze()
    await collect_young_objects()
