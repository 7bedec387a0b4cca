"""HTTP requests to an API server: authentication, time limits, size limits and errors.

Every request returns bytes or raises RequestFailed. The error records whether the request may have been carried out,
because the caller must then check before it retries. There is one retry here: after a 401, with renewed credentials.
"""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import lru_cache
from urllib.parse import urlencode

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from stromboli import __version__
from stromboli.kube.client.api_errors import ApiError, RequestFailed, Unreachable, error_from
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.config.credentials import CredentialsProblem
from stromboli.kube.client.rate_limit import TokenBucket

MAX_LINE_LENGTH = 32 << 20
"""No object is near this size (etcd rejects 1.5 MB); a longer line is not a watch event."""


class LineTooLong(ValueError):
    """The stream has no end of line within the limit."""


class Lines:
    """Collect chunks and return complete lines.

    A long line arrives in many chunks, so incomplete data is kept in pieces and joined once.
    """

    def __init__(self, max_length: int = MAX_LINE_LENGTH) -> None:
        self._max_length = max_length
        self._pieces: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that the chunk completes, without line ends. Raises LineTooLong."""
        *complete, rest = chunk.split(b"\n")
        if complete and self._pieces:
            complete[0] = b"".join((*self._pieces, complete[0]))
            self._pieces.clear()
            self._length = 0
        if rest:
            self._pieces.append(rest)
            self._length += len(rest)
        if self._length > self._max_length:
            raise LineTooLong(f"a line of more than {self._max_length >> 20} MiB")
        return [line for line in complete if line]


class WriteDenied(aiohttp.ClientError):
    """The write was not sent."""


class GuardedPayload(aiohttp.BytesPayload):
    """A request body that is sent only if `may_write` still returns true."""

    def __init__(self, body: bytes, may_write: Callable[[], bool]) -> None:
        super().__init__(body)
        self._may_write = may_write

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        if not self._may_write():
            raise WriteDenied
        await super().write_with_length(writer, content_length)


def was_denied_locally(error: BaseException) -> bool:
    """Report whether a request failed for this reason; aiohttp wraps errors raised while a body is sent."""
    return isinstance(error, WriteDenied) or isinstance(error.__cause__, WriteDenied)


USER_AGENT = f"stromboli/{__version__} ({platform.system().lower()}/{platform.machine()})"
MAX_RESPONSE_SIZE = 256 << 20
"""Size limit of a response after decompression; a larger one is rejected before it fills the memory."""
MAX_ERROR_BODY = 1 << 20
MAX_CONNECTIONS = 256
CONNECT_SECONDS = 10.0
_NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)


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
        self._base = connection.server.rstrip("/")
        #: Number of responses by method and status code; the code is `none` if there was no response.
        self.answers: Counter[tuple[str, str]] = Counter()

    async def close(self) -> None:
        session, self._session = self._session, None
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
    ) -> bytes:
        """Return the body of a successful response. Raises ApiError or Unreachable."""
        await self._rate.wait()
        headers = {"Accept": accept, "Content-Type": content_type} if body is not None else {"Accept": accept}
        seconds = self._timeout if timeout is None else timeout
        limits = aiohttp.ClientTimeout(total=seconds, connect=min(seconds, CONNECT_SECONDS))
        response = await self._answer(method, path, params, body, headers, limits)
        with _converted_errors(method, path):
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
        limits = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS, sock_read=idle_seconds)
        response = await self._answer("GET", path, params, None, headers, limits)
        async with response, aclosing(_lines(response, path)) as lines:
            yield lines

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
        with _converted_errors(method, path):
            response = await self._send(method, url, body, headers, limits)
            if response.status == 401 and await self._renewed(response):
                response = await self._send(method, url, body, headers, limits)
            if 200 <= response.status < 300:
                return response
            async with response:
                raise await _error_from(response)

    async def _send(
        self, method: str, url: URL, body: bytes | None, headers: Mapping[str, str], limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        connection = self.connection
        try:
            identity = await connection.credentials.headers()
        except CredentialsProblem as error:
            raise Unreachable(str(error), sent=False) from error
        context = connection.credentials.certificate() or connection.ssl
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

    async def _renewed(self, response: aiohttp.ClientResponse) -> bool:
        try:
            renewed = await self.connection.credentials.renew()
        except CredentialsProblem:
            return False
        if renewed:
            response.release()
        return renewed

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


async def _lines(response: aiohttp.ClientResponse, path: str) -> AsyncGenerator[bytes, None]:
    lines = Lines()
    chunks = response.content.iter_any()
    while True:
        with _converted_errors("GET", path):
            chunk = await anext(chunks, None)
            complete = lines.feed(chunk) if chunk else []
        if chunk is None:
            return
        for line in complete:
            yield line


async def _error_from(response: aiohttp.ClientResponse) -> RequestFailed:
    body = await _read(response, MAX_ERROR_BODY)
    if 300 <= response.status < 400:
        return ApiError(response.status, "", "the server redirects; is the address that of an API server?")
    return error_from(response.status, body, response.headers.get("Retry-After"))


@contextmanager
def _converted_errors(method: str, path: str) -> Iterator[None]:
    """Convert network errors to Unreachable."""
    try:
        yield
    except (aiohttp.ClientError, OSError, TimeoutError, LineTooLong) as error:
        sent = not isinstance(error, _NOT_SENT) and not was_denied_locally(error)
        raise Unreachable(f"{method} {path}: {_describe(error)}", sent=sent) from error


def _describe(error: Exception) -> str:
    if was_denied_locally(error):
        return "not the leader any more"
    if isinstance(error, TimeoutError):
        return "no response in time"
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
        return f"cannot connect to {error.host}:{error.port}: {_cause(error.os_error)}"
    return str(error) or type(error).__name__


def _cause(error: OSError) -> str:
    """The system's message; name resolution uses messages and numbers of its own."""
    known = error.errno is not None and error.errno > 0
    return os.strerror(error.errno or 0) if known else error.strerror or str(error)
