"""The webhook as a process. Every replica answers; there is nothing to be elected for."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from stromboli.admission.authorisation import Authorisation
from stromboli.admission.facts import AdmissionPolicy
from stromboli.admission.lister import AdmissionLister
from stromboli.admission.metrics import AdmissionMetrics
from stromboli.admission.reviewer import Reviewer
from stromboli.admission.server import Server
from stromboli.admission.tls import Certificate
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.observability.addresses import Address
from stromboli.observability.endpoints import Endpoints
from stromboli.observability.health import Health, Heartbeat, Milestone
from stromboli.observability.signals import stopped_by_signal

STUCK = 30.0
"""The loop that answers must come by again within so many seconds."""

log = logging.getLogger("stromboli.admission")


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """What the process needs to know."""

    connect: Callable[[], Connection]
    terms: AdmissionPolicy
    address: Address
    certificate_file: str
    key_file: str
    client_authority_file: str = ""
    authorisation_ttl: float = 10.0
    allows_unanswered: bool = False
    at_once: int = 32
    #: How long a process that was told to stop goes on answering: those who ask it hear of that a little later.
    farewell: float = 5.0
    metrics_address: str = ""
    health_address: str = ""


async def run_admission(settings: AdmissionSettings) -> None:
    """Answer until a signal. Raises CannotListen, or UnusableCertificate."""
    stop, health, metrics = asyncio.Event(), Health(), AdmissionMetrics()
    certificate = Certificate(
        settings.certificate_file, settings.key_file, settings.client_authority_file, metrics.certificate_changed
    )
    endpoints = Endpoints(
        metrics, health, metrics_address=settings.metrics_address, health_address=settings.health_address
    )
    async with Client(settings.connect()) as client:
        sight = AdmissionLister(client)
        heartbeat, staying = Heartbeat("the loop that answers", STUCK, time.monotonic), Milestone("")
        health.check_alive("loop", heartbeat)
        health.check_ready("watches", sight.missing)
        health.check_ready("staying", staying)
        authorisation = Authorisation(client, settings.authorisation_ttl, told=metrics.authorised)
        reviewer = Reviewer(client, sight.facts, settings.terms, authorisation, settings.allows_unanswered)
        server = Server(reviewer, metrics, at_once=settings.at_once, ready=sight.missing)
        with stopped_by_signal(stop.set), endpoints:
            leaving = _leave(stop, staying, settings.farewell)
            await _serve(server, certificate, sight, settings.address, leaving, _beat(heartbeat))


async def _serve(
    server: Server,
    certificate: Certificate,
    sight: AdmissionLister,
    wanted: Address,
    *beside: Coroutine[None, None, None],
) -> None:
    """Until the first of those who work beside it is done; the watches go on until the last answer was given."""
    work = [asyncio.create_task(each) for each in (sight.run(), certificate.follow(), *beside)]
    begun = asyncio.create_task(_tell_when_ready(sight))
    try:
        address = await server.start(wanted, certificate)
        log.info("listening", extra={"address": str(address)})
        done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await server.stop()
        for task in (*work, begun):
            task.cancel()
        await asyncio.gather(*work, begun, return_exceptions=True)


async def _leave(stop: asyncio.Event, staying: Milestone, farewell: float) -> None:
    """Done when the process was told to stop, and has answered for a while after it."""
    await stop.wait()
    staying.lost("the process is about to end")
    log.info("stopping", extra={"seconds": farewell})
    await asyncio.sleep(farewell)


async def _beat(heartbeat: Heartbeat) -> None:
    while True:
        heartbeat.beat()
        await asyncio.sleep(1)


async def _tell_when_ready(sight: AdmissionLister) -> None:
    """Before everything was listed, nobody is answered."""
    await sight.listed()
    log.info("ready")
