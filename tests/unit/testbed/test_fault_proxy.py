"""The fault proxy applies exactly the requested faults."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from yarl import URL

from testbed.fault_proxy import FaultProxy
from testbed.proxy_faults import (
    Action,
    Answer,
    CutBody,
    Delay,
    Gate,
    Hang,
    LoseAnswer,
    LoseRequest,
    Match,
    Oversize,
    Replay,
    Truncate,
    WrongType,
)
from tests.testing.kube.waiting import until

ALL = Match()


class Counting:
    """A server that counts writes, and whose stream continues until it is stopped."""

    def __init__(self) -> None:
        self.count = 0
        self.goes_on = asyncio.Event()

    async def count_up(self, request: web.Request) -> web.Response:
        self.count += 1
        response = web.json_response({"count": self.count, "path": request.raw_path, "body": await request.text()})
        response.enable_compression()
        return response

    async def stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"first\n")
        await self.goes_on.wait()
        await response.write(b"second\n")
        return response


@pytest.fixture
async def counting() -> AsyncIterator[tuple[Counting, str]]:
    counting = Counting()
    application = web.Application()
    application.router.add_route("*", "/count", counting.count_up)
    application.router.add_get("/stream", counting.stream)
    async with TestServer(application) as server:
        yield counting, str(server.make_url("")).rstrip("/")


@pytest.fixture
def proxy(counting: tuple[Counting, str]) -> Iterator[FaultProxy]:
    with FaultProxy(counting[1], seed=1) as started:
        yield started


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
        yield session


async def asked(client: aiohttp.ClientSession, proxy: FaultProxy) -> str:
    """The result of a write for the client: the count, a status, or the type of failure."""
    try:
        async with client.post(URL(f"{proxy.url}/count?a=%2F", encoded=True), data=b"{}") as answer:
            body = await answer.read()
            if answer.status != 200:
                return str(answer.status)
            said = json.loads(body)
            assert (said["path"], said["body"]) == ("/count?a=%2F", "{}")
            return f"{said['count']}, {len(body)} bytes" if len(body) > 1000 else str(said["count"])
    except (aiohttp.ClientError, ConnectionError, ValueError) as error:
        return type(error).__name__


#: A fault, its effect for the client, and the number of requests at the server.
FAULTS: dict[str, tuple[Action, set[str], int]] = {
    "a delay": (Delay(0.05), {"1"}, 1),
    "an answer of another": (Answer(503, "ServiceUnavailable"), {"503"}, 0),
    "a lost request": (LoseRequest(), {"ServerDisconnectedError"}, 0),
    "a request that is reset": (LoseRequest(reset=True), {"ClientOSError", "ServerDisconnectedError"}, 0),
    "a lost answer": (LoseAnswer(), {"ServerDisconnectedError"}, 1),
    "half of a body": (CutBody(), {"ClientPayloadError"}, 1),
    "half of a body and a reset": (CutBody(reset=True), {"ClientPayloadError", "ClientOSError"}, 1),
    "half of the JSON": (Truncate(), {"JSONDecodeError"}, 1),
    "HTML page": (WrongType(), {"JSONDecodeError"}, 1),
    "too much": (Oversize(5000), {"1, 5000 bytes"}, 1),
    "too much, packed": (Oversize(5000, packed=True), {"1, 5000 bytes"}, 1),
}


@pytest.mark.parametrize(("action", "sees", "reached"), FAULTS.values(), ids=FAULTS)
async def test_fault_is_applied_once(
    action: Action,
    sees: set[str],
    reached: int,
    counting: tuple[Counting, str],
    proxy: FaultProxy,
    client: aiohttp.ClientSession,
) -> None:
    fault = proxy.faults.add(Match("POST", "/count"), action)
    assert await asked(client, proxy) in sees
    assert (fault.fired, counting[0].count) == (1, reached)
    assert await asked(client, proxy) == str(reached + 1)


async def test_requests_without_fault_pass_unchanged(client: aiohttp.ClientSession, proxy: FaultProxy) -> None:
    assert [await asked(client, proxy) for _ in range(3)] == ["1", "2", "3"]
    assert [(call.method, call.path, call.status) for call in proxy.calls] == [("POST", "/count?a=%2F", 200)] * 3


async def test_fault_hits_matching_requests_only(client: aiohttp.ClientSession, proxy: FaultProxy) -> None:
    refused = Answer(409, "Conflict")
    proxy.faults.add(Match("POST", "/count", "aiohttp"), refused, times=2, after=1)
    for other in (Match("GET"), Match(path="/other"), Match(agent="another agent")):
        proxy.faults.add(other, refused, times=None)
    assert [await asked(client, proxy) for _ in range(5)] == ["1", "409", "409", "2", "3"]
    proxy.faults.add(ALL, refused, times=None)
    assert await asked(client, proxy) == "409"
    proxy.faults.clear()
    assert await asked(client, proxy) == "4"


async def test_random_faults_follow_the_seed(client: aiohttp.ClientSession, counting: tuple[Counting, str]) -> None:
    async def tried() -> list[bool]:
        with FaultProxy(counting[1], seed=7) as proxy:
            proxy.faults.add(ALL, Answer(500), times=None, chance=0.5)
            return [await asked(client, proxy) == "500" for _ in range(20)]

    first = await tried()
    assert set(first) == {True, False}
    assert first == await tried()


async def test_stream_is_forwarded_in_chunks_and_can_be_cut(
    client: aiohttp.ClientSession, counting: tuple[Counting, str], proxy: FaultProxy
) -> None:
    async with client.get(f"{proxy.url}/stream") as whole, client.get(f"{proxy.url}/stream?cut") as broken:
        assert (await whole.content.readline(), await broken.content.readline()) == (b"first\n", b"first\n")
        assert proxy.cut_streams(Match(path="cut")) == 1
        with pytest.raises(aiohttp.ClientPayloadError):
            await broken.content.read()
        counting[0].goes_on.set()
        assert await whole.content.read() == b"second\n"


@pytest.mark.parametrize("begins", [False, True])
async def test_hanging_request_sends_nothing(begins: bool, client: aiohttp.ClientSession, proxy: FaultProxy) -> None:
    proxy.faults.add(ALL, Hang(begins=begins))
    has_begun = False

    async def read() -> None:
        nonlocal has_begun
        async with client.get(f"{proxy.url}/stream", timeout=aiohttp.ClientTimeout(sock_read=0.2)) as answer:
            has_begun = True
            await answer.content.read()

    with pytest.raises(aiohttp.ServerTimeoutError):
        await read()
    assert has_begun is begins


async def test_old_response_is_replayed(
    client: aiohttp.ClientSession, counting: tuple[Counting, str], proxy: FaultProxy
) -> None:
    proxy.faults.add(Match("POST", "/count"), Replay(), times=3)
    assert [await asked(client, proxy) for _ in range(3)] == ["1", "1", "1"]
    assert await asked(client, proxy) == "2"


async def test_gate_holds_requests_until_opened_or_rejected(
    client: aiohttp.ClientSession, counting: tuple[Counting, str], proxy: FaultProxy
) -> None:
    first, second = Gate(), Gate()
    proxy.faults.add(ALL, first, times=2, after=1)
    proxy.faults.add(ALL, second, times=1, after=3)
    assert await asked(client, proxy) == "1"
    held = [asyncio.ensure_future(asked(client, proxy)) for _ in range(2)]
    await until(lambda: len(first.waiting) == 2)
    assert counting[0].count == 1
    threading.Thread(target=first.open).start()
    assert {await each for each in held} == {"2", "3"}
    last = asyncio.ensure_future(asked(client, proxy))
    await until(lambda: second.is_reached)
    second.refuse()
    assert await last == "ServerDisconnectedError"
    assert counting[0].count == 3


async def test_server_outage_and_recovery(client: aiohttp.ClientSession, proxy: FaultProxy) -> None:
    assert await asked(client, proxy) == "1"
    proxy.go_down()
    # A kept-alive connection is found to be closed first.
    assert {await asked(client, proxy) for _ in range(3)} >= {"ClientConnectorError"}
    proxy.come_back()
    assert await asked(client, proxy) == "2"


async def test_delivered_write_is_awaited(counting: tuple[Counting, str], proxy: FaultProxy) -> None:
    """Whether the request of a disconnected client was served is known afterwards."""
    gate = Gate()
    proxy.faults.add(ALL, gate)
    async with aiohttp.ClientSession() as leaving:
        task = asyncio.ensure_future(asked(leaving, proxy))
        await until(lambda: gate.is_reached)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    gate.open()
    (call,) = proxy.calls
    await until(lambda: not proxy._open)
    assert (call.status, counting[0].count) in ((0, 0), (200, 1))
