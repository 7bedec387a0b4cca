"""The webhook over HTTPS: what is too large, too slow or too much is turned away before it costs anything.

An API server waits ten seconds for an answer as a rule, so there is no use in letting anybody take longer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp import web

from stromboli.admission.metrics import AdmissionMetrics
from stromboli.admission.requests import InvalidReview, Request, answer_patch, answer_verdict, read_review
from stromboli.admission.reviewer import Reviewer
from stromboli.admission.tls import Certificate
from stromboli.observability.addresses import Address
from stromboli.observability.endpoints import ListenError

VALIDATE, MUTATE = "/validate", "/mutate"
MAX_BODY_SIZE = 3 << 20
BODY_SECONDS = 5.0
ANSWER_SECONDS = 9.0
IDLE_SECONDS = 60.0
"""How long a connection may be silent, and how long the headers of a request may take."""
LINGERING_SECONDS = 1.0
"""How long the rest of a request that was turned away is waited for, so that its sender reads the answer."""
MAX_WAITING = 1000

_log = logging.getLogger("stromboli.admission")
_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}

Answering = Callable[[Request], Awaitable[bytes]]


class Server:
    """`at_once` requests are looked at at a time; some more wait for their turn, and all others are turned away."""

    def __init__(
        self,
        reviewer: Reviewer,
        metrics: AdmissionMetrics,
        *,
        at_once: int,
        ready: Callable[[], str | None],
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self._reviewer = reviewer
        self._metrics = metrics
        self._turns = asyncio.Semaphore(at_once)
        self._ready = ready
        self._body_seconds = body_seconds
        self._waiting = 0
        self._runner: web.AppRunner | None = None

    async def start(self, address: Address, certificate: Certificate) -> Address:
        """Where it listens. Raises CannotListen."""
        application = web.Application(client_max_size=MAX_BODY_SIZE)
        for path, answering in ((VALIDATE, self._validate), (MUTATE, self._mutate)):
            application.router.add_post(path, partial(self._answer, answering))
        self._runner = web.AppRunner(
            application,
            access_log=None,
            handle_signals=False,
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=LINGERING_SECONDS,
            shutdown_timeout=5,
        )
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, address.host, address.port, ssl_context=certificate.context).start()
        except OSError as error:
            raise ListenError(f"cannot listen on {address}: {error.strerror or error}") from error
        return Address(address.host, self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Returns when those who had begun are answered."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, answering: Answering, request: web.Request) -> web.Response:
        began = time.perf_counter()
        status, body = await self._in_turn(request, answering)
        if status != 200:
            self._metrics.turned_away(str(status))
        self._metrics.answered(request.path.removeprefix("/"), time.perf_counter() - began)
        form = "application/json" if status == 200 else "text/plain"
        return web.Response(status=status, body=body, content_type=form, headers=_HEADERS)

    async def _in_turn(self, request: web.Request, answering: Answering) -> tuple[int, bytes]:
        if problem := self._ready():
            return 503, f"not ready: {problem}\n".encode()
        if self._waiting >= MAX_WAITING:
            return 503, b"too many requests at once; try again later\n"
        self._waiting += 1
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._turns:
                return 200, await answering(read_review(await self._body(request)))
        except InvalidReview as error:
            return 400, f"{error}\n".encode()
        except _TooSlow:
            return 408, f"the request took longer than {self._body_seconds:g} s to arrive\n".encode()
        except web.HTTPRequestEntityTooLarge:
            return 413, f"a review holds at most {MAX_BODY_SIZE} bytes\n".encode()
        except TimeoutError:
            return 503, b"no answer was found in time; try again later\n"
        except Exception:
            _log.exception("a request could not be answered")
            return 500, b"the request could not be answered; the log says why\n"
        finally:
            self._waiting -= 1

    async def _body(self, request: web.Request) -> bytes:
        if (request.content_length or 0) > MAX_BODY_SIZE:
            raise web.HTTPRequestEntityTooLarge(MAX_BODY_SIZE, request.content_length or 0)
        try:
            async with asyncio.timeout(self._body_seconds):
                return await request.read()
        except TimeoutError:
            raise _TooSlow from None

    async def _validate(self, request: Request) -> bytes:
        verdict = await self._reviewer.review(request)
        self._metrics.judged(request.kind.kind, request.operation, allowed=verdict.is_allowed)
        if not verdict.is_allowed:
            _log.info("refused: %s", verdict.message, extra={"user": request.user_info.username})
        return answer_verdict(request, verdict)

    async def _mutate(self, request: Request) -> bytes:
        patch = self._reviewer.patch(request)
        self._metrics.filled_in(request.kind.kind, changed=bool(patch))
        return answer_patch(request, patch)


class _TooSlow(Exception):
    """The body of a request did not come in time."""
