"""The webhook's HTTPS server, with limits on size, time and concurrency.

An API server usually waits ten seconds for a response, so longer processing is aborted.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp import web

from stromboli.admission.callers import PathSecrets
from stromboli.admission.metrics import AdmissionMetrics
from stromboli.admission.requests import InvalidReview, Request, answer_patch, answer_verdict, read_review
from stromboli.admission.reviewer import Reviewer
from stromboli.serving.address import Address
from stromboli.serving.guard import Handler
from stromboli.serving.listener import Listener
from stromboli.serving.tls import Certificate
from stromboli.serving.web_server import WebServer

VALIDATE, MUTATE = "/validate", "/mutate"
MAX_BODY_SIZE = 3 << 20
BODY_SECONDS = 5.0
ANSWER_SECONDS = 9.0
MAX_WAITING = 1000

_log = logging.getLogger("stromboli.admission")
_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}

Answering = Callable[[Request], Awaitable[bytes]]


class Server:
    """Up to `at_once` requests are processed concurrently; some more wait, and all others are rejected."""

    def __init__(
        self,
        reviewer: Reviewer,
        metrics: AdmissionMetrics,
        *,
        concurrency: int,
        ready: Callable[[], str | None],
        callers: PathSecrets | None = None,
        body_seconds: float = BODY_SECONDS,
        listener: Listener | None = None,
    ) -> None:
        """Without `callers` every client is answered."""
        self._reviewer = reviewer
        self._metrics = metrics
        self._slots = asyncio.Semaphore(concurrency)
        self._ready = ready
        self._body_seconds = body_seconds
        self._callers = callers or PathSecrets()
        self._waiting = 0
        self._web = WebServer(self._application(), listener)

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=MAX_BODY_SIZE, middlewares=[self._known_callers_only])
        for path, answering in ((VALIDATE, self._validate), (MUTATE, self._mutate)):
            for pattern in (path, f"{path}/{{secret}}"):
                application.router.add_post(pattern, partial(self._answer, path, answering))
        return application

    async def start(self, address: Address, certificate: Certificate) -> Address:
        """Start to listen and return the address. Raises ListenError."""
        return await self._web.start(address, certificate.context)

    async def stop(self) -> None:
        """Stop after the requests in progress are answered."""
        await self._web.stop()

    @web.middleware
    async def _known_callers_only(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Reject other clients before anything of their request is read, with one answer for every path."""
        if self._callers.accepts(request.match_info.get("secret", "")):
            return await handler(request)
        self._metrics.rejected("403")
        response = web.Response(status=403, text="forbidden\n", headers=_HEADERS)
        response.force_close()
        return response

    async def _answer(self, path: str, answering: Answering, request: web.Request) -> web.Response:
        began = time.perf_counter()
        status, body = await self._in_turn(request, answering)
        if status != 200:
            self._metrics.rejected(str(status))
        self._metrics.answered(path.removeprefix("/"), time.perf_counter() - began)
        form = "application/json" if status == 200 else "text/plain"
        return web.Response(status=status, body=body, content_type=form, headers=_HEADERS)

    async def _in_turn(self, request: web.Request, answering: Answering) -> tuple[int, bytes]:
        if problem := self._ready():
            return 503, f"not ready: {problem}\n".encode()
        if self._waiting >= MAX_WAITING:
            return 503, b"too many requests at once; try again later\n"
        self._waiting += 1
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._slots:
                return 200, await answering(read_review(await self._body(request)))
        except InvalidReview as error:
            return 400, f"{error}\n".encode()
        except _TooSlow:
            return 408, f"the request took longer than {self._body_seconds:g} s to arrive\n".encode()
        except web.HTTPRequestEntityTooLarge:
            return 413, f"a review has at most {MAX_BODY_SIZE} bytes\n".encode()
        except TimeoutError:
            return 503, b"no response in time; try again later\n"
        except Exception:
            _log.exception("request failed")
            return 500, b"internal error; see the log\n"
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
        self._metrics.reviewed(request.kind.kind, request.operation, allowed=verdict.is_allowed)
        if not verdict.is_allowed:
            _log.info("request denied", extra={"user": request.user_info.username, "reason": verdict.message})
        return answer_verdict(request, verdict)

    async def _mutate(self, request: Request) -> bytes:
        patch = self._reviewer.patch(request)
        self._metrics.mutated(request.kind.kind, changed=bool(patch))
        return answer_patch(request, patch)


class _TooSlow(Exception):
    """The request body did not arrive in time."""
