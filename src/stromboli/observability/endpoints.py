"""Health, metrics and configuration over HTTP, from a thread of their own.

The scheduler thinks in one thread, and a long thought is no illness: a probe must be answered while a cycle runs.
So the endpoints have their own thread and event loop, and everything they tell is read, never computed, there.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import Protocol

from aiohttp import web

from stromboli.kube.client.redaction import redact_value
from stromboli.observability.addresses import Address, parse_address
from stromboli.observability.health import Health, Verdict

METRICS_ADDRESS = "127.0.0.1:8080"
HEALTH_ADDRESS = "127.0.0.1:11251"

_SECONDS_TO_START = 10.0
_SECONDS_TO_STOP = 5.0
_MAX_BODY = 1024
_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ListenError(RuntimeError):
    """An address cannot be used; the message says which one, and why."""


class MetricsRenderer(Protocol):
    """Metrics that can be put into text."""

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """The text and its content type, in a form that the reader accepts."""


class Endpoints:
    """Both addresses and what they answer. An empty address is not listened on."""

    def __init__(
        self,
        metrics: MetricsRenderer | None,
        health: Health,
        *,
        metrics_address: str = METRICS_ADDRESS,
        health_address: str = HEALTH_ADDRESS,
        configuration: Callable[[], Mapping[str, object]] = dict,
    ) -> None:
        self._metrics = metrics
        self._health = health
        self._configuration = configuration
        self._wanted = {"metrics": metrics_address if metrics else "", "health": health_address}
        self._parsed = {name: parse_address(text) for name, text in self._wanted.items() if text}
        #: Where the endpoints are found once they have started.
        self.addresses: dict[str, Address] = {}
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None

    # -- life ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Returns when the addresses answer. Raises CannotListen."""
        started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(started,), name="endpoints", daemon=True)
        self._thread.start()
        try:
            started.result(_SECONDS_TO_START)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Returns when the addresses are free again. Stopping twice, or what never started, does no harm."""
        loop, stopping, thread = self._loop, self._stopping, self._thread
        if thread is None:
            return
        if loop is not None and stopping is not None and not loop.is_closed():
            loop.call_soon_threadsafe(stopping.set)
        thread.join(_SECONDS_TO_STOP)
        self._thread = None

    def __enter__(self) -> Endpoints:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self, started: Future[None]) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._serve(started))

    async def _serve(self, started: Future[None]) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        runners: list[web.AppRunner] = []
        try:
            for name, address in self._parsed.items():
                runners.append(_runner(self._application(name)))
                self.addresses[name] = await _listen(runners[-1], address)
        except Exception as error:
            started.set_exception(error)
        else:
            started.set_result(None)
            await self._stopping.wait()
        finally:
            for runner in runners:
                await runner.cleanup()

    # -- answers ------------------------------------------------------------------------------------------------

    def _application(self, name: str) -> web.Application:
        """Each address answers about health; only one tells numbers and the configuration."""
        application = web.Application(client_max_size=_MAX_BODY, middlewares=[_with_headers])
        for path in ("/healthz", "/livez"):
            application.router.add_get(path, self._get_livez)
        application.router.add_get("/readyz", self._get_readyz)
        if name == "metrics":
            application.router.add_get("/metrics", self._get_metrics)
            application.router.add_get("/configz", self._get_configuration)
        return application

    async def _get_livez(self, request: web.Request) -> web.Response:
        return _told(self._health.alive(), request)

    async def _get_readyz(self, request: web.Request) -> web.Response:
        return _told(self._health.ready(), request)

    async def _get_metrics(self, request: web.Request) -> web.Response:
        assert self._metrics is not None, "without metrics there is no such path"  # noqa: S101
        text, content_type = self._metrics.render(request.headers.get("Accept", ""))
        return web.Response(body=text, headers={"Content-Type": content_type})

    async def _get_configuration(self, request: web.Request) -> web.Response:
        """For whoever sits at this machine: a configuration tells more about a cluster than numbers do."""
        if not _is_local(request.remote):
            return web.Response(status=403, text="the configuration is shown on this machine only\n")
        text = json.dumps(redact_value(self._configuration()), indent=2, default=str)
        return web.Response(text=f"{text}\n", content_type="application/json")


def _runner(application: web.Application) -> web.AppRunner:
    return web.AppRunner(application, access_log=None, handle_signals=False, keepalive_timeout=30, shutdown_timeout=1)


async def _listen(runner: web.AppRunner, address: Address) -> Address:
    await runner.setup()
    try:
        await web.TCPSite(runner, address.host, address.port).start()
    except OSError as error:
        raise ListenError(f"cannot listen on {address}: {error.strerror or error}") from error
    port: int = runner.addresses[0][1]
    return Address(address.host, port)


@web.middleware
async def _with_headers(request: web.Request, handler: Handler) -> web.StreamResponse:
    response = await handler(request)
    response.headers.update(_HEADERS)
    return response


def _told(verdict: Verdict, request: web.Request) -> web.Response:
    return web.Response(
        status=200 if verdict.is_good else 500, text=verdict.in_words(verbose="verbose" in request.query)
    )


def _is_local(remote: str | None) -> bool:
    try:
        return ipaddress.ip_address(remote or "").is_loopback
    except ValueError:
        return False
