"""Scripted failures of a server."""

import asyncio
import gzip
from typing import Any

from aiohttp import web

from tests.testing.kube.http_server import Trick, refusal


def answer(
    status: int, reason: str = "", message: str = "", headers: dict[str, str] | None = None, **details: Any
) -> Trick:
    async def play(request: web.Request) -> web.StreamResponse:
        return web.json_response(refusal(status, reason, message, **details), status=status, headers=headers)

    return play


def body(content: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> Trick:
    """This body."""

    async def play(request: web.Request) -> web.StreamResponse:
        return web.Response(body=content, status=status, headers=headers)

    return play


async def hang(request: web.Request) -> web.StreamResponse | None:
    """No response."""
    await asyncio.sleep(60)
    return None


async def cut(request: web.Request) -> web.StreamResponse | None:
    """The connection is closed before a response."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def lines(*content: bytes, then_hang: bool = False) -> Trick:
    """A watch that sends these lines, and ends or hangs."""

    async def play(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for line in content:
            await response.write(line)
        if then_hang:
            await asyncio.sleep(60)
        return response

    return play


def gzip_members(*content: bytes) -> Trick:
    """A compressed watch as API servers send it: every flush is a gzip member of its own."""

    async def play(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Encoding": "gzip"})
        await response.prepare(request)
        for line in content:
            await response.write(gzip.compress(line))
        return response

    return play
