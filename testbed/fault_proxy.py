"""A proxy between the processes and an API server that injects faults of networks, gateways and overloaded servers.

It has a thread and an event loop of its own: a test may block, kill processes and inspect requests, while watches and
renewals continue. Requests, streams and compressed responses pass unchanged, unless a fault applies.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

import aiohttp
import msgspec
from aiohttp import web

from testbed.proxy_call import Call, Stage
from testbed.proxy_faults import Faults, Match

T = TypeVar("T")

BINDINGS = Match("POST", r"/pods/[^/]+/binding")
EVICTIONS = Match("POST", r"/pods/[^/]+/eviction")
#: Writes of scheduling decisions; renewals of leases are excluded.
WRITES = Match("POST|PUT|PATCH|DELETE", r"^(?!.*/leases)")
_STARTS_WITHIN = 30.0
#: Seconds that TLS connections need to shut down before their loop may be closed.
_GOODBYE = 0.05


class FaultProxy:
    """`with FaultProxy(url) as proxy`: `proxy.url` is the address, `proxy.faults` are the injected faults."""

    def __init__(self, server: str, *, seed: int = 0) -> None:
        self.faults = Faults(seed)
        #: All requests so far, in order.
        self.calls: list[Call] = []
        self._server = server.rstrip("/")
        self._open: set[Call] = set()
        self._port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="fault-proxy", daemon=True)
        self._upstream: aiohttp.ClientSession | None = None
        self._web: web.Server | None = None
        self._listening: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> FaultProxy:
        self._thread.start()
        self._do(self._start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._do(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STARTS_WITHIN)
        self._loop.close()

    # -- operations of a test -----------------------------------------------------------------------------------

    def go_down(self) -> None:
        """Simulate an outage: connections end, and new ones are refused."""
        self._do(self._close())

    def come_back(self) -> None:
        """Listen again at the same address."""
        self._do(self._listen())

    def cut_streams(self, match: Match) -> int:
        """End the requests in progress, such as watches; return their number."""

        async def cut() -> int:
            hit = [call for call in self._open if match.hits(call)]
            for call in hit:
                call.cut()
            return len(hit)

        return self._do(cut())

    # -- observations of a test ---------------------------------------------------------------------------------

    def sent(self, match: Match) -> int:
        """Requests that the server has received and not answered yet."""
        return sum(call.stage is Stage.SENT and match.hits(call) for call in list(self._open))

    def seen(self, match: Match) -> list[Call]:
        """All requests of this kind so far."""
        return [call for call in list(self.calls) if match.hits(call)]

    def binds(self) -> Counter[str]:
        """The number of successful bindings by uid, according to the server."""
        confirmed = [call for call in self.seen(BINDINGS) if 200 <= call.status < 300]
        return Counter(msgspec.json.decode(call.body)["metadata"]["uid"] for call in confirmed)

    # -- the server ---------------------------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_STARTS_WITHIN)

    async def _start(self) -> None:
        self._upstream = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=False),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            read_bufsize=1 << 18,
        )
        await self._listen()

    async def _listen(self) -> None:
        self._web = web.Server(self._serve, handler_cancellation=True, access_log=None)
        self._listening = await self._loop.create_server(self._web, "127.0.0.1", self._port)
        self._port = self._listening.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        assert self._listening is not None
        assert self._web is not None
        self._listening.close()
        for call in self._open:
            call.cut()
        await self._web.shutdown(timeout=0.1)
        await self._listening.wait_closed()

    async def _stop(self) -> None:
        assert self._upstream is not None
        await self._close()
        await self._upstream.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await asyncio.sleep(_GOODBYE)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        assert self._upstream is not None
        call = Call(request, self._upstream, self._server, await request.content.read())
        self.calls.append(call)
        self._open.add(call)
        try:
            # A request that was sent to the server is awaited, even if the client has left.
            work = asyncio.ensure_future(self._carry_out(call))
            await _followed(work, lambda: call.stage is Stage.SENT and call.method != "GET")
        finally:
            self._open.discard(call)
        return call.response or web.Response()

    async def _carry_out(self, call: Call) -> None:
        # Clients and servers that disconnect are the purpose of this proxy.
        try:
            if not await self.faults.happen(call):
                await call.pass_on()
        except (aiohttp.ClientError, ConnectionError):
            call.cut()


async def _followed(work: asyncio.Future[None], must_end: Callable[[], bool]) -> None:
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        if not must_end():
            work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        raise
