from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.client.api_errors import RequestFailed, Unreachable
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.connection_pool import ConnectionPool
from stromboli.kube.client.keep_alive import HttpResponse, KeepAliveConnection, MalformedResponse, ResponseParser

LIMIT = 1 << 20
OK = b"HTTP/1.1 200 OK\r\n"
RESPONSES = {
    "length": (OK + b"Content-Length: 5\r\n\r\nhello", 200, b"hello"),
    "no body": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    "chunks": (OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", 200, b"hello"),
    "chunk with a line break": (OK + b"transfer-encoding: Chunked\r\n\r\n4\r\na\r\nb\r\n0\r\n\r\n", 200, b"a\r\nb"),
    "trailer": (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nAt: end\r\n\r\n", 200, b"a"),
    "interim": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\na", 200, b"a"),
    "empty": (b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n", 201, b""),
}


def parse(pieces: list[bytes], limit: int = LIMIT) -> HttpResponse | None:
    parser = ResponseParser(limit)
    found = None
    for piece in pieces:
        assert found is None, "complete before its last byte"
        found = parser.feed(piece)
    return found


@pytest.mark.parametrize(("raw", "status", "body"), RESPONSES.values(), ids=RESPONSES.keys())
@given(data=st.data())
def test_response_does_not_depend_on_packets(raw: bytes, status: int, body: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1))))
    pieces = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    found = parse(pieces)
    assert found is not None
    assert (found.status, found.body, found.is_last) == (status, body, False)


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        OK + b"Content-Length: many\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nmany\r\n",
        OK + b"Content-Length: 2000000\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nfffffff\r\n",
        b"H" * (1 << 17),
    ],
)
def test_malformed_or_oversized_response_raises(raw: bytes) -> None:
    with pytest.raises(MalformedResponse):
        parse([raw])


def test_response_without_length_ends_with_the_connection() -> None:
    parser = ResponseParser(LIMIT)
    assert parser.feed(OK + b"\r\nhel") is None
    assert parser.feed(b"lo") is None
    response = parser.end()
    assert response is not None
    assert (response.body, response.is_last) == (b"hello", True)


def test_connection_that_ends_within_a_response_has_none() -> None:
    parser = ResponseParser(LIMIT)
    parser.feed(OK + b"Content-Length: 5\r\n\r\nhel")
    assert parser.end() is None


# -- connections ------------------------------------------------------------------------------------------------------

Answer = Callable[[int, bytes], bytes | None]


class LineServer:
    """Answers each request by a function of the number of its connection and the request; None closes."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.connections = 0
        self.requests: list[bytes] = []
        self.tasks: list[asyncio.Task[object]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        task = asyncio.current_task()
        assert task is not None
        self.tasks.append(task)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                answer = self._answer(number, self.requests[-1])
                if answer is None:
                    break
                writer.write(answer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def connected(server: LineServer) -> AsyncIterator[Client]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with listening:
        async with Client(Connection(f"http://127.0.0.1:{port}/prefix", None), timeout=5.0) as client:
            yield client
        await asyncio.gather(*server.tasks)


CREATED = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"


async def test_writes_share_a_connection() -> None:
    server = LineServer(lambda number, request: CREATED)
    async with connected(server) as client:
        for name in ("a", "b", "c"):
            await client.bind("d", name, "u", "n1")
    assert server.connections == 1
    first = server.requests[0].split(b"\r\n")[0]
    assert first == b"POST /prefix/api/v1/namespaces/d/pods/a/binding?fieldManager=stromboli HTTP/1.1"


async def test_parallel_writes_have_connections_of_their_own() -> None:
    server = LineServer(lambda number, request: CREATED)
    async with connected(server) as client:
        await asyncio.gather(*(client.bind("d", f"pod-{number}", "u", "n1") for number in range(5)))
        await client.bind("d", "later", "u", "n1")
    assert server.connections == 5


@pytest.mark.parametrize("close", [b"Connection: close\r\n", b"connection: Close\r\n"])
async def test_connection_that_the_server_ends_is_not_reused(close: bytes) -> None:
    server = LineServer(lambda number, request: CREATED.replace(b"\r\n\r\n", b"\r\n" + close + b"\r\n"))
    async with connected(server) as client:
        await client.bind("d", "a", "u", "n1")
        await client.bind("d", "b", "u", "n1")
    assert server.connections == 2


async def test_connection_closed_while_idle_is_replaced() -> None:
    written: list[asyncio.StreamWriter] = []

    class Closing(LineServer):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            written.append(writer)
            await super().serve(reader, writer)

    server = Closing(lambda number, request: CREATED)
    async with connected(server) as client:
        await client.bind("d", "a", "u", "n1")
        written[0].close()
        await written[0].wait_closed()
        await asyncio.sleep(0)
        await client.bind("d", "b", "u", "n1")
    assert server.connections == 2


async def test_connection_that_was_idle_for_long_is_replaced() -> None:
    server, now = LineServer(lambda number, request: CREATED), 0.0
    request = b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
    async with connected(server) as client:
        pool = ConnectionPool(client.connection, limit=1, max_size=LIMIT, clock=lambda: now)
        for moment, connections in ((0.0, 1), (29.0, 1), (59.0, 2)):
            now = moment
            await pool.exchange(None, request, 5.0, lambda: True)
            assert server.connections == connections
        pool.close()


async def test_connections_that_a_peak_left_idle_are_closed() -> None:
    server, now = LineServer(lambda number, request: CREATED), 0.0
    request = b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
    async with connected(server) as client:
        pool = ConnectionPool(client.connection, limit=3, max_size=LIMIT, clock=lambda: now)
        await asyncio.gather(*(pool.exchange(None, request, 5.0, lambda: True) for _ in range(3)))
        for moment in (20.0, 40.0):
            now = moment
            await pool.exchange(None, request, 5.0, lambda: True)
        closed = asyncio.as_completed(server.tasks, timeout=10.0)
        for _ in range(2):
            await next(closed)
        assert [task.done() for task in server.tasks].count(False) == 1, "the one in use stays"
        pool.close()


async def test_connection_cut_after_the_request_leaves_outcome_unknown() -> None:
    server = LineServer(lambda number, request: None)
    async with connected(server) as client:
        with pytest.raises(Unreachable) as error:
            await client.bind("d", "a", "u", "n1")
    assert error.value.outcome_unknown


async def test_data_after_the_response_closes_the_connection() -> None:
    """A second response would be taken for that of the next request."""
    server = LineServer(lambda number, request: CREATED + CREATED if number == 1 else CREATED)
    async with connected(server) as client:
        await client.bind("d", "a", "u", "n1")
        await client.bind("d", "b", "u", "n1")
    assert server.connections == 2


@contextlib.asynccontextmanager
async def pair() -> AsyncIterator[tuple[socket.socket, KeepAliveConnection]]:
    """The server's end of a connection, and the client's."""
    server, client = socket.socketpair()
    client.setblocking(False)
    connection = KeepAliveConnection(client, LIMIT)
    yield server, connection
    connection.close()
    server.close()


async def test_request_times_out_although_the_one_before_had_more_time() -> None:
    async with pair() as (server, connection):
        server.sendall(CREATED)
        await connection.exchange(b"first", 60.0)
        with pytest.raises(TimeoutError):
            await connection.exchange(b"second", 0.01)
        assert not connection.is_open


async def test_request_outlives_the_deadline_of_the_one_before() -> None:
    async with pair() as (server, connection):
        server.sendall(CREATED)
        await connection.exchange(b"first", 0.01)
        asyncio.get_running_loop().call_later(0.03, server.sendall, CREATED)
        assert (await connection.exchange(b"second", 60.0)).status == 201
        with pytest.raises(TimeoutError):
            await connection.exchange(b"third", 0.01)


async def test_large_body_is_sent_whole() -> None:
    server = LineServer(lambda number, request: CREATED)
    async with connected(server) as client:
        await client.request("POST", "/x", body=b"x" * (8 << 20))
    assert server.requests[0].endswith(b"x" * (8 << 20))


async def test_cancelled_write_closes_its_connection() -> None:
    server = LineServer(lambda number, request: b"" if number == 1 else CREATED)
    async with connected(server) as client:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.bind("d", "a", "u", "n1"), 0.05)
        await client.bind("d", "b", "u", "n1")
    assert server.connections == 2


async def test_header_with_a_line_break_is_not_sent() -> None:
    server = LineServer(lambda number, request: CREATED)
    async with connected(server) as client:
        with pytest.raises(RequestFailed, match="line break"):
            await client.request("POST", "/x", body=b"", content_type="a\r\nInjected: b")
    assert server.requests == []
