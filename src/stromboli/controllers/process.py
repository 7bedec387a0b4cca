"""The controllers as a process: one of several works at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from stromboli.controllers.discovery_keys import Key
from stromboli.controllers.metrics import ControllerMetrics
from stromboli.controllers.names import CONTROLLERS
from stromboli.controllers.wiring import Controllers
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.election.leadership import Election, Leadership
from stromboli.observability.endpoints import Endpoints
from stromboli.observability.health import Health
from stromboli.observability.signals import stopped_by_signal
from stromboli.serving.guard import ALWAYS_ALLOWED, AccessControl
from stromboli.serving.tls import TlsSettings

log = logging.getLogger("stromboli.controllers")


class LeadershipLost(RuntimeError):
    """Another process leads now."""


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """Settings of the process. `connect` is called once per user of a connection."""

    connect: Callable[[], Connection]
    scheduler_names: Sequence[str]
    default_queue: str = "default"
    election: Election | None = None
    metrics_address: str = ""
    health_address: str = ""
    #: Paths that need no token at a metrics address that other machines reach.
    always_allowed_paths: tuple[str, ...] = ALWAYS_ALLOWED
    tls: TlsSettings | None = None
    #: Names of the controllers that run.
    enabled: Sequence[str] = CONTROLLERS
    #: Node labels for HyperNode discovery; empty for no discovery.
    discovery_keys: Sequence[Key] = ()


async def run_controllers(settings: ControllerSettings) -> None:
    """Work until a signal. Raises LeadershipLost, ListenError or InvalidCertificate."""
    stop, health, metrics = asyncio.Event(), Health(), ControllerMetrics()
    endpoints = Endpoints(
        metrics,
        health,
        metrics_address=settings.metrics_address,
        health_address=settings.health_address,
        configuration=lambda: {"controllers": list(settings.enabled), "defaultQueue": settings.default_queue},
        access=AccessControl(settings.connect, settings.always_allowed_paths),
        tls=settings.tls,
    )
    with stopped_by_signal(stop.set), endpoints:
        log.info("controllers enabled", extra={"controllers": ", ".join(settings.enabled)})
        if settings.election is None:
            await _work(settings, metrics, stop)
        else:
            await _work_when_elected(settings, settings.election, health, metrics, stop)


async def _work_when_elected(
    settings: ControllerSettings, election: Election, health: Health, metrics: ControllerMetrics, stop: asyncio.Event
) -> None:
    loop, leads, lost = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    leadership = Leadership(
        settings.connect(),
        election,
        won=lambda: loop.call_soon_threadsafe(leads.set),
        lost=lambda: loop.call_soon_threadsafe(lost.set),
    )
    health.check_ready("election", lambda: leadership.problem or None)
    leadership.start()
    try:
        await _until_first(leads.wait(), stop.wait())
        if not stop.is_set():
            log.info("leadership acquired", extra={"epoch": leadership.epoch})
            await _until_first(_work(settings, metrics, stop, lambda: leadership.is_leading), lost.wait())
    finally:
        await asyncio.to_thread(leadership.stop)
    if lost.is_set():
        raise LeadershipLost("another process holds the lease")


async def _work(
    settings: ControllerSettings,
    metrics: ControllerMetrics,
    stop: asyncio.Event,
    may_write: Callable[[], bool] | None = None,
) -> None:
    metrics.set_leader(True)
    async with Client(settings.connect(), may_write=may_write) as client:
        controllers = Controllers(
            client, settings.scheduler_names, settings.default_queue, settings.discovery_keys, settings.enabled
        )
        metrics.observe(controllers)
        await _until_first(controllers.run(), stop.wait())


async def _until_first(*works: Awaitable[object]) -> None:
    """Run these until the first has ended, then cancel the others; raises its error."""
    tasks = [asyncio.ensure_future(work) for work in works]
    done, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for task in done:
        task.result()
