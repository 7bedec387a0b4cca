"""A listening socket with limits on connections.

A connection that has not sent the headers of a request yet is *unheard*: its handshake or its headers are missing.
There are few of these at a time. The oldest is closed for a new one, and each after five seconds: clients send a
request at once, so one that opens many connections takes neither the turn of others nor memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import ssl
from functools import partial

from aiohttp import web

from stromboli.serving.address import Address, ListenError

HEADER_SECONDS = 5.0
MAX_UNHEARD = 64
MAX_CONNECTIONS = 1_100
"""Above the number of requests that may wait."""
_BACKLOG = 128

_log = logging.getLogger("stromboli.serving")


class Listener:
    """Accepts connections for an application."""

    def __init__(
        self, *, header_seconds: float = HEADER_SECONDS, unheard: int = MAX_UNHEARD, connections: int = MAX_CONNECTIONS
    ) -> None:
        self._header_seconds = header_seconds
        self._max_unheard = unheard
        self._max_connections = connections
        #: By connection, oldest first; a task ends when the first headers have arrived, or closes the connection.
        self._unheard: dict[socket.socket, asyncio.Task[None]] = {}
        self._heard: dict[object, asyncio.Event] = {}
        self._accepting: asyncio.Task[None] | None = None
        self._socket: socket.socket | None = None

    def listen(self, address: Address, context: ssl.SSLContext | None, server: web.Server) -> Address:
        """Start to accept connections; without a context, plain ones. Raises ListenError."""
        try:
            self._socket = _bound(address)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error  # of names: negative
            raise ListenError(f"cannot listen on {address}: {reason}") from error
        self._accepting = asyncio.create_task(self._accept(self._socket, context, server))
        return Address(address.host, self._socket.getsockname()[1])

    async def stop(self) -> None:
        """Accept no more connections; those with a request stay open."""
        tasks = [task for task in (self._accepting, *self._unheard.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._socket is not None:
            self._socket.close()

    def heard(self, request: web.BaseRequest) -> None:
        """Note that the headers of a request have arrived on its connection."""
        event = self._heard.get(request.protocol)
        if event is not None:
            event.set()

    async def _accept(self, listening: socket.socket, context: ssl.SSLContext | None, server: web.Server) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError:  # too many open files: wait until some are closed
                await asyncio.sleep(0.1)
                continue
            if len(self._unheard) >= self._max_unheard:
                self._unheard.pop(next(iter(self._unheard))).cancel()
            if len(server.connections) + len(self._unheard) >= self._max_connections:
                connection.close()
                continue
            task = self._unheard[connection] = asyncio.create_task(self._serve(connection, context, server))
            task.add_done_callback(partial(self._settled, connection))

    def _settled(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._unheard.pop(connection, None)
        if task.cancelled():  # perhaps before its first step
            with contextlib.suppress(OSError):
                connection.close()
        elif (error := task.exception()) is not None:
            _log.warning("connection failed", extra={"error": str(error)})

    async def _serve(self, connection: socket.socket, context: ssl.SSLContext | None, server: web.Server) -> None:
        loop, protocol, heard = asyncio.get_running_loop(), server(), asyncio.Event()
        self._heard[protocol] = heard
        transport: asyncio.BaseTransport | None = None
        try:
            async with asyncio.timeout(self._header_seconds):
                transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=context)
                await heard.wait()
        except BaseException as error:
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()
            with contextlib.suppress(OSError):
                connection.close() if transport is None else None
            if not isinstance(error, OSError | TimeoutError):
                raise
        finally:
            del self._heard[protocol]


def _bound(address: Address) -> socket.socket:
    """A socket on the address; without a host on all interfaces."""
    host = address.host or ("::" if socket.has_dualstack_ipv6() else "0.0.0.0")  # noqa: S104 - as configured
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    dual = not address.host and family == socket.AF_INET6
    if family == socket.AF_INET and not host.replace(".", "").isdecimal():
        family = socket.getaddrinfo(host, address.port, type=socket.SOCK_STREAM)[0][0]
    listening = socket.create_server(
        (host, address.port), family=family, backlog=_BACKLOG, dualstack_ipv6=dual, reuse_port=False
    )
    listening.setblocking(False)
    return listening
