"""A response that is read while it arrives, on a connection of its own.

Under load every event of a watch arrives alone, and waking up for each costs more than reading it. So a stream is read
at most once per READ_INTERVAL, and each time everything is taken that has arrived. An event after a pause is read at
once.
"""

from __future__ import annotations

import asyncio
import socket
import zlib

from stromboli.kube.client.keep_alive import (
    CHUNK,
    WAIT,
    HttpResponse,
    KeepAliveConnection,
    MalformedResponse,
    wake,
)

READ_INTERVAL = 0.005
#: At most this many times CHUNK is taken at once, so that other work has its turn during a long list.
MAX_READS = 64
_GZIP = 16 + zlib.MAX_WBITS


class GzipMembers:
    """Decompresses consecutive gzip members: servers compress flush by flush."""

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._member = zlib.decompressobj(_GZIP)

    def feed(self, data: bytes) -> bytes:
        """Return what can be decompressed so far. Raises MalformedResponse."""
        parts: list[bytes] = []
        left = self._max_size
        while data:
            if self._member.eof:
                self._member = zlib.decompressobj(_GZIP)
            try:
                part = self._member.decompress(data, left)
            except zlib.error as error:
                raise MalformedResponse(f"the response is not compressed correctly: {error}") from None
            left -= len(part)
            if self._member.unconsumed_tail or left <= 0:
                raise MalformedResponse(f"the response is larger than {self._max_size >> 20} MiB")
            parts.append(part)
            data = self._member.unused_data
        return b"".join(parts)


class StreamingConnection(KeepAliveConnection):
    """Carries one request. A successful response is read in parts; any other one is returned whole."""

    def __init__(self, connected: socket.socket, max_size: int) -> None:
        super().__init__(connected, max_size)
        self._gzip: GzipMembers | None = None
        self._is_drained = False
        self._has_ended = False
        self._error: OSError | None = None
        self._next_read = 0.0

    async def open(self, request: bytes, timeout: float) -> HttpResponse:
        """Send the request and wait for its response, after which only a successful stream is open. Raises OSError or
        TimeoutError.
        """
        response = await self._respond(request, timeout)
        if not response.is_success:
            self.close()
        if response.header(b"content-encoding") == b"gzip":
            self._gzip = GzipMembers(self._max_size)
        return response

    async def read(self, timeout: float | None) -> bytes:
        """Return the part of the body that arrives next; empty at its end. Raises OSError or TimeoutError."""
        while True:
            part = self._parser.take()
            if part and self._is_drained:
                self._next_read = self._loop.time() + READ_INTERVAL
            if part and (content := part if self._gzip is None else self._gzip.feed(part)):
                return content
            if self._error is not None:
                raise self._error
            if self._has_ended:
                return b""
            if (pause := self._next_read - self._loop.time()) > 0 or not self._is_drained:
                await asyncio.sleep(max(pause, 0.0))
            else:
                await self._until_readable(timeout)
            self._next_read = 0.0
            self._receive()

    def _take(self, data: bytes) -> None:
        """Resolve the response at the end of a successful head; from then on the socket is read by `read`."""
        waiting = self._response
        super()._take(data)
        if waiting is None:
            return
        head = self._parser.head
        if head is not None and head.is_success and not waiting.done():
            waiting.set_result(head)
        if waiting.done():
            self._has_ended = not data or self._parser.is_complete
            self._loop.remove_reader(self._socket)

    async def _until_readable(self, timeout: float | None) -> None:
        ready = self._loop.create_future()
        self._loop.add_reader(self._socket, wake, ready)
        try:
            async with asyncio.timeout(timeout):
                await ready
        finally:
            if self.is_open:
                self._loop.remove_reader(self._socket)

    def _receive(self) -> None:
        """Pass on to the parser what has arrived. An error is raised once what arrived before it was read."""
        self._is_drained = False
        try:
            for _ in range(MAX_READS):
                data = self._socket.recv(CHUNK)
                if self._parser.feed(data) if data else self._end():
                    self._has_ended = True
                    return
        except WAIT:
            self._is_drained = True
        except OSError as error:
            self._error = error

    def _end(self) -> HttpResponse:
        response = self._parser.end()
        if response is None:
            raise ConnectionResetError("the server closed the connection")
        return response
