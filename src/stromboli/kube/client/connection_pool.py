"""Open connections to one server, reused by requests one after the other."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.keep_alive import HttpResponse, KeepAliveConnection, wake
from stromboli.kube.client.streaming import StreamingConnection

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 30.0
"""A connection that was idle for longer is not used again: servers close idle ones, usually after 90 seconds or more,
and a request that crosses with that fails."""
C = TypeVar("C", bound=KeepAliveConnection)
#: As the system resolves names, or the path of a Unix socket.
_Address = str | tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]


class NotSent(OSError):
    """Nothing was sent."""


class ConnectFailed(NotSent):
    """No connection could be opened."""


class WriteDenied(NotSent):
    """The process may not write any more."""


class ConnectionPool:
    """At most `limit` connections; the one that was used last is used next. Those that a peak left idle are closed."""

    def __init__(
        self, connection: Connection, *, limit: int, max_size: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        address = urlsplit(connection.server)
        self._is_tls = address.scheme == "https"
        self._host = address.hostname or ""
        self._port = address.port or (443 if self._is_tls else 80)
        self._server_name = connection.server_name or self._host
        self._socket_path = connection.socket
        self._max_size = max_size
        self._clock = clock
        self._slots = asyncio.Semaphore(limit)
        #: By the time of the last use, the oldest first.
        self._idle: deque[tuple[ssl.SSLContext | None, float, KeepAliveConnection]] = deque()
        self._busy: set[KeepAliveConnection] = set()
        self._default_context: ssl.SSLContext | None = None
        #: The header `Host`.
        self.host = address.netloc.rpartition("@")[2]

    async def exchange(
        self, context: ssl.SSLContext | None, request: bytes, timeout: float, may_write: Callable[[], bool]
    ) -> HttpResponse:
        """Send a request over a free connection with these TLS settings, unless `may_write` has become false.

        Raises NotSent, OSError or TimeoutError.
        """
        async with self._slots:
            used = self._take_idle(context) or await self._open(KeepAliveConnection, context, timeout)
            self._busy.add(used)
            try:
                if not may_write():
                    self._keep(context, used)
                    raise WriteDenied("not the leader any more")
                response = await used.exchange(request, timeout)
            finally:
                self._busy.discard(used)
            self._keep(context, used)
            return response

    async def stream(
        self, context: ssl.SSLContext | None, request: bytes, timeout: float
    ) -> tuple[HttpResponse, StreamingConnection]:
        """Send a request over a new connection, which the caller of a successful one reads and closes. Streams do not
        count to the limit.

        Raises NotSent, OSError or TimeoutError.
        """
        connection = await self._open(StreamingConnection, context, timeout)
        return await connection.open(request, timeout), connection

    def close(self) -> None:
        for connection in [*self._busy, *(each for *_, each in self._idle)]:
            connection.close()
        self._idle.clear()

    def _keep(self, context: ssl.SSLContext | None, used: KeepAliveConnection) -> None:
        now = self._clock()
        while self._idle and now - self._idle[0][1] >= IDLE_SECONDS:
            self._idle.popleft()[2].close()
        if used.is_open:
            self._idle.append((context, now, used))

    def _take_idle(self, context: ssl.SSLContext | None) -> KeepAliveConnection | None:
        while self._idle:
            known, since, connection = self._idle.pop()
            if known is context and connection.is_open and self._clock() - since < IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def _open(self, kind: type[C], context: ssl.SSLContext | None, timeout: float) -> C:
        try:
            async with asyncio.timeout(min(timeout, CONNECT_SECONDS)):
                connected = await self._connect()
                try:
                    return kind(await self._encrypted(connected, context), self._max_size)
                except BaseException:
                    connected.close()
                    raise
        except TimeoutError:
            raise ConnectFailed("no response in time") from None
        except ssl.SSLError as error:
            raise ConnectFailed(f"cannot connect to {self._host}:{self._port}: {error}") from error
        except OSError as error:
            raise ConnectFailed(f"cannot connect to {self._host}:{self._port}: {cause(error)}") from error

    async def _connect(self) -> socket.socket:
        if self._socket_path:
            return await _connected(socket.AF_UNIX, self._socket_path)
        problem = OSError("the name has no address")
        for family, _, _, _, address in await _resolved(self._host, self._port):
            try:
                connected = await _connected(family, address)
            except OSError as error:
                problem = error
                continue
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            return connected
        raise problem

    async def _encrypted(self, connected: socket.socket, context: ssl.SSLContext | None) -> socket.socket:
        if not self._is_tls:
            return connected
        if context is None:
            context = self._default_context = self._default_context or ssl.create_default_context()
        encrypted = context.wrap_socket(connected, server_hostname=self._server_name, do_handshake_on_connect=False)
        try:
            await _shake_hands(encrypted)
        except BaseException:
            encrypted.close()
            raise
        return encrypted


def cause(error: OSError) -> str:
    """The system's message; name resolution uses messages and numbers of its own."""
    known = error.errno is not None and error.errno > 0
    return os.strerror(error.errno or 0) if known else error.strerror or str(error)


async def _resolved(host: str, port: int) -> list[tuple[int, int, int, str, _Address]]:
    """The addresses of a name, or the host itself if it is an address."""
    try:
        return [*socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)]
    except socket.gaierror:
        return [*await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)]


async def _connected(family: int, address: _Address) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(made, address)
    except BaseException:
        made.close()
        raise
    return made


async def _shake_hands(encrypted: ssl.SSLSocket) -> None:
    loop = asyncio.get_running_loop()
    while True:
        ready = loop.create_future()
        try:
            encrypted.do_handshake()
        except ssl.SSLWantReadError:
            loop.add_reader(encrypted, wake, ready)
            remove = loop.remove_reader
        except ssl.SSLWantWriteError:
            loop.add_writer(encrypted, wake, ready)
            remove = loop.remove_writer
        else:
            return
        try:
            await ready
        finally:
            remove(encrypted)
