"""The webhook as a process. Every replica answers; there is nothing to be elected for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from stromboli.admission.authorisation import Authorisation
from stromboli.admission.facts import Terms
from stromboli.admission.metrics import AdmissionMetrics
from stromboli.admission.reviewer import Reviewer
from stromboli.admission.server import Server
from stromboli.admission.sight import Sight
from stromboli.admission.tls import Certificate
from stromboli.kube.access.client import Client
from stromboli.kube.access.connection import Connection
from stromboli.operations.addresses import Address
from stromboli.operations.endpoints import Endpoints
from stromboli.operations.health import Health
from stromboli.operations.signals import stopped_by_signal

log = logging.getLogger("stromboli.admission")


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """What the process needs to know."""

    connect: Callable[[], Connection]
    terms: Terms
    address: Address
    certificate_file: str
    key_file: str
    client_authority_file: str = ""
    authorisation_ttl: float = 10.0
    allows_unanswered: bool = False
    at_once: int = 32
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
        sight = Sight(client)
        health.check_ready("watches", sight.missing)
        authorisation = Authorisation(client, settings.authorisation_ttl, told=metrics.authorised)
        reviewer = Reviewer(client, sight.facts, settings.terms, authorisation, settings.allows_unanswered)
        server = Server(reviewer, metrics, at_once=settings.at_once, ready=sight.missing)
        with stopped_by_signal(stop.set), endpoints:
            await _serve(server, certificate, sight, settings.address, stop)


async def _serve(server: Server, certificate: Certificate, sight: Sight, wanted: Address, stop: asyncio.Event) -> None:
    """The watches go on until the last answer was given."""
    work = [asyncio.create_task(each) for each in (sight.run(), certificate.follow(), stop.wait())]
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


async def _tell_when_ready(sight: Sight) -> None:
    """Before everything was listed, nobody is answered."""
    await sight.listed()
    log.info("ready")
