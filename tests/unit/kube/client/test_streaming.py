"""Streams: every framing is read in parts as it arrives, and what arrived before an error is delivered first."""

from __future__ import annotations

import asyncio
import gzip
import socket
import zlib
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.client.keep_alive import CHUNK, HttpResponse, MalformedResponse, ResponseParser
from stromboli.kube.client.streaming import MAX_READS, GzipMembers, StreamingConnection

LIMIT = 1 << 20
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
FRAMINGS = {
    "chunks": CHUNKED + b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",
    "length": HEAD + b"Content-Length: 5\r\n\r\nhello",
    "end of the connection": HEAD + b"\r\nhello",
}


def pieces_of(raw: bytes, data: st.DataObject) -> list[bytes]:
    cuts = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1))))
    return [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]


@pytest.mark.parametrize("raw", FRAMINGS.values(), ids=FRAMINGS.keys())
@given(data=st.data())
def test_parts_of_a_body_join_to_the_whole(raw: bytes, data: st.DataObject) -> None:
    parser, content = ResponseParser(LIMIT), b""
    for piece in pieces_of(raw, data):
        parser.feed(piece)
        content += parser.take()
    parser.end()
    assert content + parser.take() == b"hello"
    assert parser.is_complete


@given(lines=st.lists(st.binary(min_size=1), min_size=1), data=st.data())
def test_gzip_members_do_not_depend_on_packets(lines: list[bytes], data: st.DataObject) -> None:
    members = GzipMembers(LIMIT)
    compressed = b"".join(map(gzip.compress, lines))
    assert b"".join(members.feed(piece) for piece in pieces_of(compressed, data)) == b"".join(lines)


@pytest.mark.parametrize("content", [b"not compressed", gzip.compress(bytes(2 * LIMIT))], ids=["plain", "bomb"])
def test_malformed_or_oversized_compression_raises(content: bytes) -> None:
    with pytest.raises(MalformedResponse):
        GzipMembers(LIMIT).feed(content)


# -- connections ------------------------------------------------------------------------------------------------------


class Peer:
    """A stream, and the server's end of its connection."""

    def __init__(self) -> None:
        self.server, client = socket.socketpair()
        client.setblocking(False)
        self.stream = StreamingConnection(client, 16 * LIMIT)

    async def open(self, sent: bytes) -> HttpResponse:
        self.server.sendall(sent)
        return await self.stream.open(b"GET / HTTP/1.1\r\n\r\n", 5.0)

    async def read(self) -> bytes:
        return await self.stream.read(5.0)


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    peer = Peer()
    yield peer
    peer.stream.close()
    peer.server.close()


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


END = b"0\r\n\r\n"


@pytest.mark.parametrize("raw", FRAMINGS.values(), ids=FRAMINGS.keys())
@pytest.mark.parametrize("at_once", [True, False], ids=["with the head", "after the head"])
async def test_stream_ends_with_its_body(raw: bytes, at_once: bool, peer: Peer) -> None:
    cut = len(raw) if at_once else raw.index(b"\r\n\r\n") + 4
    await peer.open(raw[:cut])
    peer.server.sendall(raw[cut:])
    peer.server.shutdown(socket.SHUT_WR)
    content = b""
    while part := await peer.read():
        content += part
    assert content == b"hello"


async def test_response_of_a_failure_is_returned_whole(peer: Peer) -> None:
    response = await peer.open(b"HTTP/1.1 410 Gone\r\nContent-Length: 3\r\n\r\nold")
    assert (response.status, response.body) == (410, b"old")


async def test_events_of_a_busy_stream_are_read_together(peer: Peer) -> None:
    await peer.open(CHUNKED)
    peer.server.sendall(chunk(b"one"))
    assert await peer.read() == b"one"
    second = asyncio.ensure_future(peer.read())
    for content in (b"two", b"three"):
        await asyncio.sleep(0)
        peer.server.sendall(chunk(content))
    assert await second == b"twothree"


async def test_long_list_is_read_in_turns(peer: Peer) -> None:
    """Other work runs between the reads, although more data is always there."""
    await peer.open(CHUNKED)
    content = bytes(5 * MAX_READS * CHUNK)
    pieces = b"".join(chunk(content[start : start + CHUNK]) for start in range(0, len(content), CHUNK))
    sending = asyncio.ensure_future(asyncio.to_thread(peer.server.sendall, pieces))
    turns, received = [0], 0

    async def other_work() -> None:
        while True:
            turns.append(0)
            await asyncio.sleep(0)

    working = asyncio.ensure_future(other_work())
    while received < len(content):
        before = len(turns)
        received += len(await peer.read())
        assert len(turns) > before
    working.cancel()
    await sending


async def test_what_arrived_before_a_cut_is_delivered(peer: Peer) -> None:
    await peer.open(CHUNKED)
    peer.server.sendall(chunk(b"one") + b"5\r\ntw")
    peer.server.shutdown(socket.SHUT_WR)
    assert await peer.read() == b"one"
    with pytest.raises(ConnectionError, match="the server closed the connection"):
        await peer.read()


async def test_member_of_a_compressed_stream_may_arrive_in_parts(peer: Peer) -> None:
    await peer.open(HEAD + b"Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n")
    compressor = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    member = compressor.compress(b"one") + compressor.flush()
    peer.server.sendall(chunk(member[:5]))
    reading = asyncio.ensure_future(peer.read())
    await asyncio.sleep(0)
    peer.server.sendall(chunk(member[5:]) + END)
    assert await reading == b"one"
    assert await peer.read() == b""


async def test_silent_stream_times_out(peer: Peer) -> None:
    await peer.open(CHUNKED)
    with pytest.raises(TimeoutError):
        await peer.stream.read(0.01)
