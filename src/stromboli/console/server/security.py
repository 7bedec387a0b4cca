"""What holds for every request: headers, names, the number of open requests, and the time to take a response."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter

from aiohttp import web
from aiohttp.typedefs import Middleware

from stromboli.console.access.attempts import address_of
from stromboli.console.access.hosts import AllowedHosts
from stromboli.console.server.problems import problem, problem_of
from stromboli.serving.guard import Handler

#: Seconds in which a client must take a response.
_SECONDS_TO_TAKE = 30.0
#: The path of event streams, which have limits of their own: many people may reach the console through one address.
_STREAM = "/api/events"
#: Other open requests, of all and of one address.
_MAX_OPEN, _MAX_PER_ADDRESS = 400, 100

_POLICY = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "font-src 'self'"),
        *("connect-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'none'"),
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class RequestGuard:
    """The first middleware."""

    def __init__(self, hosts: AllowedHosts) -> None:
        self._hosts = hosts
        self._open: Counter[str] = Counter()

    def middleware(self) -> Middleware:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.path == _STREAM:
                return await _sent(request, await self._response(request, handler))
            address = address_of(request)
            if self._open.total() >= _MAX_OPEN or self._open[address] >= _MAX_PER_ADDRESS:
                return await _sent(request, problem(429, "TooManyRequests", "too many open requests", 5))
            self._open[address] += 1
            try:
                return await _sent(request, await self._response(request, handler))
            finally:
                self._open[address] -= 1
                if not self._open[address]:
                    del self._open[address]

        return guard

    async def _response(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        host = request.headers.get("Host", "")
        if not self._hosts.allows(host):
            message = f"the console is not served as {host[:80]!r}; allow the name with --allowed-host"
            return problem(421, "MisdirectedRequest", message)
        try:
            return await handler(request)
        except Exception as error:
            return problem_of(error)


async def _sent(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """Send a response. The connection of a client that does not take it in time is closed."""
    if response.prepared:
        return response
    try:
        async with asyncio.timeout(_SECONDS_TO_TAKE):
            await response.prepare(request)
            await response.write_eof()
    except (TimeoutError, ConnectionError):
        if request.transport is not None:
            request.transport.abort()
    return response


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Add the headers of every response."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault("Cache-Control", "no-store")
    with contextlib.suppress(KeyError):
        del response.headers["Server"]
