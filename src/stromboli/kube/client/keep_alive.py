"""One HTTP/1.1 connection that stays open and carries one small request at a time.

A scheduler sends one small write per pod, so the cost of a request matters. Here it is one `send` and one `recv` on the
socket, which also encrypt: a general HTTP client on top of asyncio's TLS layer uses several times the processor time.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass

CHUNK = 1 << 16
MAX_HEAD = 1 << 16
WAIT = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_WITHOUT_BODY = (204, 304)


class MalformedResponse(OSError):
    """The response is not HTTP, or larger than the limit."""


@dataclass(slots=True)
class HttpResponse:
    """Status, head and body; the head is in lower case."""

    status: int
    head: bytes
    body: bytes = b""
    is_last: bool = False

    def header(self, name: bytes) -> bytes | None:
        """Find a header; most responses are read for one or two of them."""
        start = self.head.find(b"\r\n" + name + b":")
        if start < 0:
            return None
        start += len(name) + 3
        end = self.head.find(b"\r\n", start)
        return self.head[start : end if end >= 0 else None].strip()

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def retry_after(self) -> str | None:
        value = self.header(b"retry-after")
        return None if value is None else value.decode("latin-1")


class ResponseParser:
    """Collects the bytes of one response."""

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._received = bytearray()
        self._body = bytearray()
        #: The response, once its head has arrived.
        self.head: HttpResponse | None = None
        self.is_complete = False
        #: The length of the body; None if it is chunked, or if the end of the connection ends it.
        self._length: int | None = None
        self._is_chunked = False

    def feed(self, data: bytes) -> HttpResponse | None:
        """Return the response once it is complete. Raises MalformedResponse."""
        self._received += data
        if self.head is None and not self._read_head():
            return None
        if self._is_chunked:
            return self._finished() if self._read_chunks() else None
        if self._length is None:
            self._body += self._received
            self._received.clear()
            self._check_size(len(self._body))
            return None
        self._check_size(max(len(self._received), self._length))
        if len(self._received) < self._length:
            return None
        self._body = self._received[: self._length]
        return self._finished(has_more=len(self._received) > self._length)

    def end(self) -> HttpResponse | None:
        """Return the response that ends with the connection, if it is complete."""
        if self.head is None or self._is_chunked or self._length is not None:
            return None
        return self._finished()

    def take(self) -> bytes:
        """Return the part of the body that is complete, and drop it: a stream is read in parts."""
        part = bytes(self._body)
        self._body.clear()
        return part

    def _finished(self, *, has_more: bool = False) -> HttpResponse | None:
        response = self.head
        if response is not None:
            self.is_complete = True
            response.body = bytes(self._body)
            response.is_last = response.is_last or has_more
        return response

    def _read_head(self) -> bool:
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            if len(self._received) > MAX_HEAD:
                raise MalformedResponse("the head of the response is too long")
            return False
        head = bytes(self._received[:end]).lower()
        del self._received[: end + 4]
        if not head.startswith(b"http/1.") or not head[9:12].isdigit():
            raise MalformedResponse("the response is not HTTP/1.1")
        status = int(head[9:12])
        if status < 200:
            return self._read_head()
        response = self.head = HttpResponse(status, head)
        self._frame(response)
        is_endless = self._length is None and not self._is_chunked
        response.is_last = is_endless or head.startswith(b"http/1.0") or response.header(b"connection") == b"close"
        return True

    def _frame(self, response: HttpResponse) -> None:
        """Find out how the body ends."""
        self._is_chunked = response.header(b"transfer-encoding") == b"chunked"
        length = response.header(b"content-length")
        if response.status in _WITHOUT_BODY:
            self._is_chunked, self._length = False, 0
        elif length is not None and not self._is_chunked:
            if not length.isdigit():
                raise MalformedResponse("the length of the response is not a number")
            self._length = int(length)

    def _read_chunks(self) -> bool:
        """Move complete chunks to the body; report whether the last one has arrived."""
        received = self._received
        while (end := received.find(b"\r\n")) >= 0:
            try:
                size = int(bytes(received[:end]).partition(b";")[0], 16)
            except ValueError:
                raise MalformedResponse("the length of a chunk is not a number") from None
            self._check_size(len(self._body) + size)
            if len(received) < end + size + 4:
                return False
            if size == 0:
                return received.startswith(b"\r\n", end + 2) or received.find(b"\r\n\r\n", end) >= 0
            self._body += received[end + 2 : end + 2 + size]
            del received[: end + size + 4]
        return False

    def _check_size(self, size: int) -> None:
        if size > self._max_size:
            raise MalformedResponse(f"the response is larger than {self._max_size >> 20} MiB; ask for smaller pages")


class KeepAliveConnection:
    """A connected socket, watched by the event loop until it is closed."""

    def __init__(self, connected: socket.socket, max_size: int) -> None:
        self._socket = connected
        self._max_size = max_size
        self._loop = asyncio.get_running_loop()
        self._response: asyncio.Future[HttpResponse] | None = None
        self._parser = ResponseParser(max_size)
        self._unsent = memoryview(b"")
        self._is_writing = False
        self._deadline = 0.0
        #: Fires at the deadline of this request or an earlier one.
        self._timer: asyncio.TimerHandle | None = None
        self.is_open = True
        self._loop.add_reader(connected, self._read)

    async def exchange(self, request: bytes, timeout: float) -> HttpResponse:
        """Send a request and wait for its response. Raises OSError or TimeoutError; the connection is closed then."""
        response = await self._respond(request, timeout)
        if response.is_last:
            self.close()
        return response

    async def _respond(self, request: bytes, timeout: float) -> HttpResponse:
        self._parser = ResponseParser(self._max_size)
        future = self._response = self._loop.create_future()
        self._set_deadline(timeout)
        self._unsent = memoryview(request)
        self._write()
        try:
            return await future
        except BaseException:
            self.close()
            raise
        finally:
            self._response = None

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            if self._timer is not None:
                self._timer.cancel()
            self._socket.close()
            self._fail(ConnectionResetError("the connection was closed"))

    def _set_deadline(self, timeout: float) -> None:
        """Time the request out. Most end long before, so a timer is kept for the next request instead of cancelled."""
        self._deadline = self._loop.time() + timeout
        if self._timer is not None and self._timer.when() > self._deadline:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self._loop.call_at(self._deadline, self._check_deadline)

    def _check_deadline(self) -> None:
        self._timer = None
        if self._response is None:
            return
        if self._loop.time() >= self._deadline:
            self._fail(TimeoutError())
        else:
            self._timer = self._loop.call_at(self._deadline, self._check_deadline)

    def _fail(self, error: Exception) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_exception(error)

    def _write(self) -> None:
        try:
            sent = self._socket.send(self._unsent)
        except WAIT:
            sent = 0
        except OSError as error:
            self._fail(error)
            return
        self._unsent = self._unsent[sent:]
        if self._unsent:
            self._is_writing = True
            self._loop.add_writer(self._socket, self._write)
        elif self._is_writing:
            self._is_writing = False
            self._loop.remove_writer(self._socket)

    def _read(self) -> None:
        try:
            data = self._socket.recv(CHUNK)
            while isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
                data += self._socket.recv(CHUNK)
        except WAIT:
            return
        except OSError as error:
            self._fail(error)
            self.close()
            return
        self._take(data)

    def _take(self, data: bytes) -> None:
        """Pass on what was received. Data without a request, or its end, closes the connection."""
        if self._response is None or self._response.done():
            self.close()
            return
        try:
            response = self._parser.feed(data) if data else self._parser.end()
        except MalformedResponse as error:
            self._fail(error)
            return
        if response is not None:
            self._response.set_result(response)
        elif not data:
            self._fail(ConnectionResetError("the server closed the connection"))


def wake(future: asyncio.Future[None]) -> None:
    """End the wait for a socket."""
    if not future.done():
        future.set_result(None)
