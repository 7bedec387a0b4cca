"""Health, metrics and configuration, from a thread of their own.

The scheduler runs in one thread, and a probe must be answered while a long cycle runs. So the endpoints have their own
thread and event loop, and only read what they return. On a loopback address every client of the machine has access; on
others, metrics and configuration are served over HTTPS and need a token that the API server accepts. Health is open;
its own address is served over plain HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import Callable, Mapping
from typing import Protocol

from aiohttp import web
from aiohttp.typedefs import Middleware

from stromboli.kube.client.redaction import redact_value
from stromboli.observability.health import Health, HealthReport
from stromboli.serving.access import AccessReviews
from stromboli.serving.address import Address, parse_address
from stromboli.serving.guard import AccessControl, Handler
from stromboli.serving.server_thread import ServerThread
from stromboli.serving.tls import TlsSettings
from stromboli.serving.web_server import WebServer

METRICS_ADDRESS = "127.0.0.1:8080"
HEALTH_ADDRESS = "127.0.0.1:11251"

_MAX_BODY = 1024
_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


class MetricsRenderer(Protocol):
    """Metrics that can be rendered."""

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Return the text and its content type, in a format that the client accepts."""


class Endpoints(ServerThread):
    """Serves both addresses; an empty address is not served."""

    name = "endpoints"

    def __init__(
        self,
        metrics: MetricsRenderer | None,
        health: Health,
        *,
        metrics_address: str = METRICS_ADDRESS,
        health_address: str = HEALTH_ADDRESS,
        configuration: Callable[[], Mapping[str, object]] = dict,
        access: AccessControl | None = None,
        tls: TlsSettings | None = None,
    ) -> None:
        """Metrics on an address that is not a loopback one require `access`. Raises InvalidCertificate."""
        super().__init__()
        self._metrics = metrics
        self._health = health
        self._configuration = configuration
        self._addresses = {"metrics": metrics_address if metrics else "", "health": health_address}
        self._parsed = {name: parse_address(text) for name, text in self._addresses.items() if text}
        is_exposed = "metrics" in self._parsed and not self._parsed["metrics"].is_loopback
        if is_exposed and access is None:
            raise ValueError(f"{metrics_address} is not a loopback address, and nothing controls the access to it")
        self._access = access if is_exposed else None
        exposed = self._parsed.get("metrics")
        self._certificate = (tls or TlsSettings()).certificate(exposed) if exposed else None
        #: The actual addresses, after the start.
        self.addresses: dict[str, Address] = {}

    # -- lifecycle ----------------------------------------------------------------------------------------------

    def __enter__(self) -> Endpoints:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def serve(self, stack: contextlib.AsyncExitStack) -> None:
        reviews = await stack.enter_async_context(self._access.reviews()) if self._access else None
        if self._certificate is not None:
            stack.callback(asyncio.create_task(self._certificate.watch()).cancel)
        for name, address in self._parsed.items():
            server = WebServer(self._application(name, reviews))
            stack.push_async_callback(server.stop)
            self.addresses[name] = await server.start(address, self._context(name))

    def _context(self, name: str) -> ssl.SSLContext | None:
        return self._certificate.context if name == "metrics" and self._certificate else None

    def url(self, name: str) -> str:
        """Return the URL of an address that is served."""
        return f"{'http' if self._context(name) is None else 'https'}://{self.addresses[name]}"

    # -- answers ------------------------------------------------------------------------------------------------

    def _application(self, name: str, reviews: AccessReviews | None) -> web.Application:
        """Both addresses serve health; only one serves metrics and the configuration, and controls access."""
        guards: list[Middleware] = (
            [self._access.guard(reviews)] if name == "metrics" and self._access and reviews else []
        )
        application = web.Application(client_max_size=_MAX_BODY, middlewares=[_with_headers, *guards])
        for path in ("/healthz", "/livez"):
            application.router.add_get(path, self._get_livez)
        application.router.add_get("/readyz", self._get_readyz)
        if name == "metrics":
            application.router.add_get("/metrics", self._get_metrics)
            application.router.add_get("/configz", self._get_configuration)
        return application

    async def _get_livez(self, request: web.Request) -> web.Response:
        return _respond(self._health.alive(), request)

    async def _get_readyz(self, request: web.Request) -> web.Response:
        return _respond(self._health.ready(), request)

    async def _get_metrics(self, request: web.Request) -> web.Response:
        assert self._metrics is not None, "the path exists with metrics only"  # noqa: S101
        text, content_type = self._metrics.render(request.headers.get("Accept", ""))
        return web.Response(body=text, headers={"Content-Type": content_type})

    async def _get_configuration(self, request: web.Request) -> web.Response:
        text = json.dumps(redact_value(self._configuration()), indent=2, default=str)
        return web.Response(text=f"{text}\n", content_type="application/json")


@web.middleware
async def _with_headers(request: web.Request, handler: Handler) -> web.StreamResponse:
    response = await handler(request)
    response.headers.update(_HEADERS)
    return response


def _respond(report: HealthReport, request: web.Request) -> web.Response:
    return web.Response(status=200 if report.is_good else 500, text=report.as_text(verbose="verbose" in request.query))
