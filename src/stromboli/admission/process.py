"""The webhook process. All replicas serve; there is no leader election."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from stromboli.admission.access.authorisation import Authorisation
from stromboli.admission.access.members import GroupMembers
from stromboli.admission.callers import PathSecrets
from stromboli.admission.facts import AdmissionPolicy
from stromboli.admission.lister import AdmissionLister
from stromboli.admission.metrics import AdmissionMetrics
from stromboli.admission.reviewer import Reviewer
from stromboli.admission.server import Server
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.observability.endpoints import Endpoints
from stromboli.observability.health import Health, Heartbeat, Milestone
from stromboli.observability.signals import stopped_by_signal
from stromboli.serving.address import Address
from stromboli.serving.guard import ALWAYS_ALLOWED, AccessControl
from stromboli.serving.tls import AUTO, RELOAD_INTERVAL, Certificate, TlsSettings

LOOP_TIMEOUT = 30.0
"""Time limit of one iteration of the event loop in seconds, for the liveness probe."""

log = logging.getLogger("stromboli.admission")


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """Settings of the process."""

    connect: Callable[[], Connection]
    policy: AdmissionPolicy
    address: Address
    certificate_file: str
    key_file: str
    client_authority_file: str = ""
    #: A file of secrets; API servers send requests to a path that ends with one of them. Empty to answer all clients.
    path_secret_file: str = ""
    authorisation_ttl: float = 10.0
    allow_unanswered: bool = False
    concurrency: int = 32
    #: Seconds to keep serving after the stop signal, until clients have noticed the change of endpoints.
    shutdown_delay: float = 5.0
    metrics_address: str = ""
    health_address: str = ""
    #: The scheme of the metrics address, which shares the certificate of the webhook.
    metrics_scheme: str = AUTO
    #: Paths that need no token at a metrics address that other machines reach.
    always_allowed_paths: tuple[str, ...] = ALWAYS_ALLOWED


async def run_admission(settings: AdmissionSettings) -> None:
    """Serve until a signal. Raises ListenError, InvalidCertificate or InvalidPathSecret."""
    stop, health, metrics = asyncio.Event(), Health(), AdmissionMetrics()
    callers = PathSecrets(settings.path_secret_file)
    certificate = Certificate(
        settings.certificate_file, settings.key_file, settings.client_authority_file, metrics.certificate_changed
    )
    endpoints = Endpoints(
        metrics,
        health,
        metrics_address=settings.metrics_address,
        health_address=settings.health_address,
        access=AccessControl(settings.connect, settings.always_allowed_paths),
        tls=TlsSettings(settings.metrics_scheme, settings.certificate_file, settings.key_file),
    )
    async with Client(settings.connect()) as client:
        lister = AdmissionLister(client)
        heartbeat, serving = Heartbeat("the event loop", LOOP_TIMEOUT, time.monotonic), Milestone("")
        health.check_alive("loop", heartbeat)
        health.check_ready("watches", lister.missing)
        health.check_ready("staying", serving)
        authorisation = Authorisation(client, settings.authorisation_ttl, on_result=metrics.authorised)
        reviewer = Reviewer(
            client, lister.facts, settings.policy, authorisation, GroupMembers(client), settings.allow_unanswered
        )
        server = Server(reviewer, metrics, concurrency=settings.concurrency, ready=lister.missing, callers=callers)
        with stopped_by_signal(stop.set), endpoints:
            shutdown = _shut_down(stop, serving, settings.shutdown_delay)
            background = (shutdown, _send_heartbeats(heartbeat), _refresh(callers))
            await _serve(server, certificate, lister, settings.address, *background)


async def _serve(
    server: Server,
    certificate: Certificate,
    lister: AdmissionLister,
    address: Address,
    *background: Coroutine[None, None, None],
) -> None:
    """Serve until one of the background tasks ends; the watches run until the last request is answered."""
    work = [asyncio.create_task(each) for each in (lister.run(), certificate.watch(), *background)]
    readiness = asyncio.create_task(_log_when_ready(lister))
    try:
        address = await server.start(address, certificate)
        log.info("listening", extra={"address": str(address)})
        done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await server.stop()
        for task in (*work, readiness):
            task.cancel()
        await asyncio.gather(*work, readiness, return_exceptions=True)


async def _shut_down(stop: asyncio.Event, serving: Milestone, shutdown_delay: float) -> None:
    """Wait for the stop signal, then for the grace time."""
    await stop.wait()
    serving.lost("the process is stopping")
    log.info("stopping", extra={"seconds": shutdown_delay})
    await asyncio.sleep(shutdown_delay)


async def _refresh(callers: PathSecrets) -> None:
    while True:
        await asyncio.sleep(RELOAD_INTERVAL)
        callers.refresh()


async def _send_heartbeats(heartbeat: Heartbeat) -> None:
    while True:
        heartbeat.beat()
        await asyncio.sleep(1)


async def _log_when_ready(lister: AdmissionLister) -> None:
    """Log readiness: no request is answered before the initial lists are complete."""
    await lister.listed()
    log.info("ready")
