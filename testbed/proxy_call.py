"""One request on its way through the fault proxy: its content, progress and response."""

from __future__ import annotations

import enum
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from yarl import URL

#: Hop-by-hop headers.
_OF_THE_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer", "host"}
#: Sent with a close, this makes the other side see a reset instead of an end.
_NO_LINGER = struct.pack("ii", 1, 0)


class Stage(enum.Enum):
    """Progress of a request."""

    ARRIVED = enum.auto()
    #: The server has received it; its outcome is unknown.
    SENT = enum.auto()
    #: The server has answered.
    ANSWERED = enum.auto()


@dataclass(frozen=True, slots=True)
class Answered:
    """A complete response of the server."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(eq=False, slots=True)
class Call:
    """`status` is that of the server's response, whatever the client received; 0 before the response."""

    request: web.BaseRequest
    upstream: aiohttp.ClientSession
    server: str
    body: bytes
    stage: Stage = Stage.ARRIVED
    status: int = 0
    response: web.StreamResponse | None = field(default=None, init=False)

    @property
    def method(self) -> str:
        return self.request.method

    @property
    def path(self) -> str:
        """The path with the query."""
        return self.request.raw_path

    @property
    def agent(self) -> str:
        return self.request.headers.get("User-Agent", "")

    # -- to the server ------------------------------------------------------------------------------------------

    def send(self, **headers: str) -> aiohttp.client._RequestContextManager:
        """Forward the request to the server, with these headers changed."""
        self.stage = Stage.SENT
        return self.upstream.request(
            self.method,
            URL(f"{self.server}{self.path}", encoded=True),
            data=self.body or None,
            headers={**_passed_on(self.request.headers), **headers},
            allow_redirects=False,
        )

    async def fetch(self) -> Answered:
        """Read the whole response, uncompressed, so that it can be changed."""
        async with self.send(**{"Accept-Encoding": "identity"}) as answer:
            body = await answer.read()
            self._answered(answer.status)
            return Answered(answer.status, _passed_on(answer.headers), body)

    async def pass_on(self) -> None:
        """Forward the response in chunks until it ends."""
        async with self.send() as answer:
            self._answered(answer.status)
            await self._begin(answer.status, _passed_on(answer.headers))
            async for chunk in answer.content.iter_any():
                await self.write(chunk)
            await self.end()

    def _answered(self, status: int) -> None:
        self.stage, self.status = Stage.ANSWERED, status

    # -- to the client ------------------------------------------------------------------------------------------

    async def answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """Send this response."""
        await self._begin(status, {**headers, "Content-Length": str(len(body))})
        await self.write(body)
        await self.end()

    async def begin(self, answered: Answered, length: int) -> None:
        """Send headers that announce a body of this length."""
        await self._begin(answered.status, {**answered.headers, "Content-Length": str(length)})

    async def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.response = web.StreamResponse(status=status, headers=headers)
        if not any(name.lower() == "content-length" for name in headers):
            self.response.enable_chunked_encoding()
        await self.response.prepare(self.request)

    async def write(self, chunk: bytes) -> None:
        assert self.response is not None
        await self.response.write(chunk)

    async def end(self) -> None:
        assert self.response is not None
        await self.response.write_eof()

    def cut(self, *, reset: bool = False) -> None:
        """Close the connection; a reset also discards data in transit."""
        transport = self.request.transport
        if transport is None:
            return
        if reset:
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            transport.abort()
        else:
            transport.close()


def _passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _OF_THE_CONNECTION}
