"""The guard of an address that other machines reach: paths that are not open need a token."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from aiohttp import web
from aiohttp.typedefs import Middleware

from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.serving.access import Access, AccessReviews, AccessUnavailable

ALWAYS_ALLOWED = ("/healthz", "/livez", "/readyz")
"""Paths that are open by default."""
_RATE, _BURST = 20.0, 40

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class AccessControl:
    """Which paths need a review, and where it is made."""

    connect: Callable[[], Connection]
    always_allowed: Sequence[str] = ALWAYS_ALLOWED

    def is_open(self, path: str) -> bool:
        """Report whether a path is open to all clients. A path with `*` at its end opens all that begin with it."""
        return any(path.startswith(each[:-1]) if each.endswith("*") else path == each for each in self.always_allowed)

    @contextlib.asynccontextmanager
    async def reviews(self) -> AsyncIterator[AccessReviews]:
        """Connect in the running event loop."""
        async with Client(self.connect(), qps=_RATE, burst=_BURST) as client:
            yield AccessReviews(client)

    def guard(self, reviews: AccessReviews) -> Middleware:
        """Admit requests for open paths, and those whose token the API server accepts for the path."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            is_served = request.match_info.http_exception is None
            if is_served and not self.is_open(request.path):
                refusal = await _refusal(request, reviews)
                if refusal is not None:
                    return refusal
            return await handler(request)

        return guard


async def _refusal(request: web.Request, reviews: AccessReviews) -> web.Response | None:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        return _unauthenticated("a bearer token is required")
    try:
        result = await reviews.review(token, request.path)
    except AccessUnavailable as error:
        return web.Response(status=503, text=f"access cannot be reviewed: {error}\n")
    if result is Access.NOT_AUTHENTICATED:
        return _unauthenticated("the API server does not accept the token")
    if result is Access.FORBIDDEN:
        text = f"the user of the token may not get {request.path}; bind a role with it in nonResourceURLs\n"
        return web.Response(status=403, text=text)
    return None


def _unauthenticated(problem: str) -> web.Response:
    return web.Response(status=401, text=f"{problem}\n", headers={"WWW-Authenticate": "Bearer"})
