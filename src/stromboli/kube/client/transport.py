"""HTTP requests to an API server: authentication, time limits, size limits and errors.

Every request returns bytes or raises RequestFailed. The error records whether the request may have been carried out,
because the caller must then check before it retries. There is one retry here: after a 401, with renewed credentials.
"""

from __future__ import annotations

import platform
import ssl
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from functools import lru_cache, partial
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

import aiohttp
from yarl import URL

from stromboli import __version__
from stromboli.kube.client.api_errors import ApiError, RequestFailed, Unreachable, error_from
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.config.credentials import CredentialsProblem
from stromboli.kube.client.connection_pool import CONNECT_SECONDS, ConnectionPool
from stromboli.kube.client.keep_alive import HttpResponse
from stromboli.kube.client.lines import Lines
from stromboli.kube.client.network_errors import GuardedPayload, converted_errors
from stromboli.kube.client.rate_limit import TokenBucket
from stromboli.kube.client.streaming import StreamingConnection

USER_AGENT = f"stromboli/{__version__} ({platform.system().lower()}/{platform.machine()})"
MAX_RESPONSE_SIZE = 256 << 20
"""Size limit of a response after decompression; a larger one is rejected before it fills the memory."""
MAX_ERROR_BODY = 1 << 20
MAX_CONNECTIONS = 256

T = TypeVar("T")
#: Sends a request over a connection with these TLS settings; returns the response, and what is read of a success.
_Exchange = Callable[[ssl.SSLContext | None, bytes], Awaitable[tuple[HttpResponse, T]]]


class Transport:
    """The connections to one server, opened at the first request in the event loop that runs then."""

    def __init__(
        self,
        connection: Connection,
        *,
        user_agent: str = USER_AGENT,
        qps: float = 0,
        burst: int = 0,
        timeout: float = 30.0,
        max_response_size: int = MAX_RESPONSE_SIZE,
        may_write: Callable[[], bool] | None = None,
    ) -> None:
        """`may_write` is called immediately before a write is sent."""
        self.connection = connection
        self._user_agent = user_agent
        self._timeout = timeout
        self._max_response_size = max_response_size
        self._may_write = may_write
        self._rate = TokenBucket(qps, burst)
        self._session: aiohttp.ClientSession | None = None
        self._pool: ConnectionPool | None = None
        self._base = connection.server.rstrip("/")
        self._prefix = urlsplit(self._base).path
        #: Number of responses by method and status code; the code is `none` if there was no response.
        self.answers: Counter[tuple[str, str]] = Counter()

    async def close(self) -> None:
        session, self._session = self._session, None
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()
        if session is not None:
            await session.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout: float | None = None,
        is_small: bool = False,
    ) -> bytes:
        """Return the body of a successful response. Raises ApiError or Unreachable.

        Requests with a body, or that expect a small response, use connections of their own, which cost less.
        """
        await self._rate.wait()
        headers = {"Accept": accept, "Content-Type": content_type} if body is not None else {"Accept": accept}
        seconds = self._timeout if timeout is None else timeout
        if (body is not None or is_small) and not self.connection.proxy:
            return await self._exchanged(
                method, path, params, headers, partial(self._exchange, method, seconds), body or b""
            )
        limits = aiohttp.ClientTimeout(total=seconds, connect=min(seconds, CONNECT_SECONDS))
        response = await self._answer(method, path, params, body, headers, limits)
        with converted_errors(method, path):
            async with response:
                return await _read(response, self._max_response_size)

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], *, idle_seconds: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield the lines of a streamed response; a pause longer than `idle_seconds` ends it with Unreachable.

        Compression is disabled: events are small, and filling a compressed block would delay them.
        """
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self.connection.proxy:
            limits = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS, sock_read=idle_seconds)
            response = await self._answer("GET", path, params, None, headers, limits)
            async with response, aclosing(_lines(response.content.iter_any(), path)) as lines:
                yield lines
            return
        seconds = self._timeout if idle_seconds is None else idle_seconds
        connection = await self._exchanged("GET", path, params, headers, partial(self._open_stream, seconds))
        try:
            async with aclosing(_lines(_parts(connection, idle_seconds), path)) as lines:
                yield lines
        finally:
            connection.close()

    async def _answer(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        body: bytes | None,
        headers: Mapping[str, str],
        limits: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        """Return a successful response before its body is read."""
        query = _query(tuple(params.items())) if params else ""
        url = URL(f"{self._base}{path}{query}", encoded=True)
        with converted_errors(method, path):
            response = await self._send(method, url, body, headers, limits)
            if response.status == 401 and await self._renewed():
                response.release()
                response = await self._send(method, url, body, headers, limits)
            if 200 <= response.status < 300:
                return response
            async with response:
                raise await _error_from(response)

    async def _exchanged(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str],
        exchange: _Exchange[T],
        body: bytes = b"",
    ) -> T:
        """Make a request on a connection of the pool, and return what is read of a successful response."""
        target = f"{method} {self._prefix}{path}{_query(tuple(params.items())) if params else ''} HTTP/1.1"
        with converted_errors(method, path):
            response, result = await self._counted(method, exchange, target, headers, body)
            if response.status == 401 and await self._renewed():
                response, result = await self._counted(method, exchange, target, headers, body)
        if response.is_success:
            return result
        raise _error(response.status, response.body, response.retry_after)

    async def _counted(
        self, method: str, exchange: _Exchange[T], target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[HttpResponse, T]:
        context, request = await self._request(target, headers, body)
        try:
            response, result = await exchange(context, request)
        except (OSError, TimeoutError):
            self.answers[method, "none"] += 1
            raise
        self.answers[method, str(response.status)] += 1
        return response, result

    async def _exchange(
        self, method: str, seconds: float, context: ssl.SSLContext | None, request: bytes
    ) -> tuple[HttpResponse, bytes]:
        may_send = _always if method == "GET" else self._may_write or _always
        response = await self._connections().exchange(context, request, seconds, may_send)
        return response, response.body

    async def _open_stream(
        self, seconds: float, context: ssl.SSLContext | None, request: bytes
    ) -> tuple[HttpResponse, StreamingConnection]:
        return await self._connections().stream(context, request, seconds)

    async def _request(
        self, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[ssl.SSLContext | None, bytes]:
        """The TLS settings and the bytes of a request."""
        identity, context = await self._identity()
        host = self._connections().host
        lines = _header_lines((("Host", host), ("User-Agent", self._user_agent), *headers.items()))
        if identity:
            lines += _header_lines(tuple(identity.items()))
        return context, f"{target}\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body

    def _connections(self) -> ConnectionPool:
        if self._pool is None:
            self._pool = ConnectionPool(self.connection, limit=MAX_CONNECTIONS, max_size=self._max_response_size)
        return self._pool

    async def _identity(self) -> tuple[Mapping[str, str], ssl.SSLContext | None]:
        """The headers and the TLS settings of a request."""
        credentials = self.connection.credentials
        try:
            return await credentials.headers(), credentials.certificate() or self.connection.ssl
        except CredentialsProblem as error:
            raise Unreachable(str(error), sent=False) from error

    async def _send(
        self, method: str, url: URL, body: bytes | None, headers: Mapping[str, str], limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        connection = self.connection
        identity, context = await self._identity()
        try:
            response = await self._open_session().request(
                method,
                url,
                data=body if body is None or self._may_write is None else GuardedPayload(body, self._may_write),
                headers={**headers, **identity},
                timeout=limits,
                allow_redirects=False,
                ssl=True if context is None else context,
                proxy=connection.proxy or None,
                server_hostname=connection.server_name or None,
            )
        except (aiohttp.ClientError, OSError, TimeoutError):
            self.answers[method, "none"] += 1
            raise
        self.answers[method, str(response.status)] += 1
        return response

    async def _renewed(self) -> bool:
        try:
            return await self.connection.credentials.renew()
        except CredentialsProblem:
            return False

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=self._connector(),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": self._user_agent},
                read_bufsize=1 << 18,
            )
        return self._session

    def _connector(self) -> aiohttp.BaseConnector:
        if self.connection.socket:
            return aiohttp.UnixConnector(self.connection.socket, limit=MAX_CONNECTIONS)
        return aiohttp.TCPConnector(limit=MAX_CONNECTIONS, ttl_dns_cache=60)


@lru_cache
def _query(params: tuple[tuple[str, str], ...]) -> str:
    """Cached: most requests use the same few queries."""
    return f"?{urlencode(params)}"


@lru_cache
def _header_lines(headers: tuple[tuple[str, str], ...]) -> str:
    """Cached: the headers of most requests are the same."""
    if any("\n" in value or "\r" in value for _, value in headers):
        raise Unreachable("a header contains a line break", sent=False)
    return "".join(f"{name}: {value}\r\n" for name, value in headers)


async def _read(response: aiohttp.ClientResponse, max_size: int) -> bytes:
    chunks: list[bytes] = []
    length = 0
    async for chunk in response.content.iter_any():
        length += len(chunk)
        if length > max_size:
            response.close()
            raise Unreachable(f"the response is larger than {max_size >> 20} MiB; ask for smaller pages", sent=True)
        chunks.append(chunk)
    return b"".join(chunks)


async def _parts(connection: StreamingConnection, idle_seconds: float | None) -> AsyncIterator[bytes]:
    while part := await connection.read(idle_seconds):
        yield part


async def _lines(parts: AsyncIterator[bytes], path: str) -> AsyncGenerator[bytes, None]:
    lines = Lines()
    while True:
        with converted_errors("GET", path):
            part = await anext(parts, None)
            complete = lines.feed(part) if part else []
        if part is None:
            return
        for line in complete:
            yield line


async def _error_from(response: aiohttp.ClientResponse) -> RequestFailed:
    body = await _read(response, MAX_ERROR_BODY)
    return _error(response.status, body, response.headers.get("Retry-After"))


def _error(status: int, body: bytes, retry_after: str | None) -> RequestFailed:
    if 300 <= status < 400:
        return ApiError(status, "", "the server redirects; is the address that of an API server?")
    return error_from(status, body, retry_after)


def _always() -> bool:
    return True
