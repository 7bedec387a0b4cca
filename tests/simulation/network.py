"""The network between processes and the API server: every message is delayed, and may be lost, as chance decides.

A message that was sent arrives, or is lost, even when its sender dies meanwhile. The streams of a process end when it
dies. Chance is that of the process, so that one process more or less does not change what happens to the others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from stromboli.kube.client.api_errors import ApiError, RequestFailed, Unreachable
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.config.credentials import static_token
from stromboli.local.api_server.api import Api, ResourceRequest
from stromboli.local.api_server.control_plane import ControlPlane
from stromboli.local.api_server.errors import StatusError
from stromboli.local.api_server.watches import StoreWatch
from stromboli.local.http.calls import parse_call
from tests.simulation.event_loop import Process, SimulationLoop

LATENCY = (0.0005, 0.01)
BOOKMARK_SECONDS = 60.0
_CONNECTION = Connection("http://memory", None, static_token(""))


@dataclass(slots=True)
class Conditions:
    """What happens to the messages of a process: the shares of those that fail, by kind of failure."""

    refused: float = 0.0
    errors: float = 0.0
    lost_requests: float = 0.0
    lost_answers: float = 0.0
    slow: float = 0.0

    def clear(self) -> None:
        self.refused = self.errors = self.lost_requests = self.lost_answers = self.slow = 0.0


@dataclass(slots=True)
class Message:
    """A request on its way."""

    sender: Process
    user: str
    method: str
    path: str
    params: Mapping[str, str]
    body: bytes
    content_type: str
    accept: str
    seconds: float
    answer: asyncio.Future[bytes]
    conditions: Conditions = field(default_factory=Conditions)

    @property
    def is_write(self) -> bool:
        return self.method != "GET"


#: Called with every request before it is carried out; raises StatusError to reject it. Returns the body to store.
Admission = Callable[[Message, ResourceRequest], Awaitable[bytes] | None]


class Stream:
    """A watch of a process. A frozen one delivers nothing more and does not end."""

    def __init__(self, network: Network, sender: Process, watch: StoreWatch, seconds: float) -> None:
        self.sender = sender
        self.is_frozen = False
        self._network = network
        self._watch = watch
        self._lines: deque[bytes | RequestFailed | None] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._is_scheduled = False
        self._is_closed = False
        watch.wake = self  # type: ignore[assignment]
        watch.__enter__()
        self._timers = [network.later(seconds, self.end), network.later(BOOKMARK_SECONDS, self._bookmark)]
        self._push(watch.opening())
        self.set()

    def set(self) -> None:
        """There may be news."""
        if not self._is_scheduled and not self._is_closed:
            self._is_scheduled = True
            self._network.later(self._network.latency(self.sender), self._pump)

    def clear(self) -> None:
        pass

    def end(self, error: RequestFailed | None = None) -> None:
        """The server, or the network, ends the stream."""
        if not self._is_closed and not self.is_frozen:
            self._push([error])
            self.close()

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._watch.__exit__()
            self._network.streams.pop(self, None)
            for timer in self._timers:
                timer.cancel()

    def _pump(self) -> None:
        self._is_scheduled = False
        if self._is_closed or self.is_frozen:
            return
        try:
            lines = [self._watch.line(change) for change in self._watch.news()]
        except StatusError as refused:
            self.end(error_of(refused))
            return
        self._push(line for line in lines if line is not None)

    def _bookmark(self) -> None:
        if not self._is_closed and not self.is_frozen:
            self._push([self._watch.bookmark()])
            self._timers[1] = self._network.later(BOOKMARK_SECONDS, self._bookmark)

    def _push(self, lines: Any) -> None:
        self._lines.extend(lines)
        if self._reader is not None and not self._reader.done() and self._lines:
            self._reader.set_result(None)

    async def lines(self, idle_seconds: float | None) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        while True:
            while not self._lines:
                self._reader = loop.create_future()
                timer = loop.call_later(idle_seconds, _fail, self._reader, "silent") if idle_seconds else None
                try:
                    await self._reader
                finally:
                    if timer is not None:
                        timer.cancel()
            line = self._lines.popleft()
            if line is None:
                return
            if isinstance(line, RequestFailed):
                raise line
            yield line


class Network:
    """`admit` decides about writes, as admission webhooks do; `written` is called after each write."""

    def __init__(self, loop: SimulationLoop, plane: ControlPlane) -> None:
        self.api = Api(plane)
        self.admit: Admission = lambda message, request: None
        #: Answers requests to endpoints that the embedded server does not implement.
        self.answered: Callable[[Message], bytes | None] = lambda message: None
        self.written: Callable[[Message, ResourceRequest], None] = lambda message, request: None
        self.trace: Callable[[str], None] = lambda line: None
        #: In the order in which they were opened.
        self.streams: dict[Stream, None] = {}
        self.conditions: dict[str, Conditions] = {}
        self._loop = loop

    def later(self, seconds: float, call: Callable[..., object], *arguments: Any) -> asyncio.TimerHandle:
        """Call outside of every process."""
        return self._loop.call_later(seconds, call, *arguments, context=Context())

    def of(self, name: str) -> Conditions:
        return self.conditions.setdefault(name, Conditions())

    def latency(self, process: Process) -> float:
        slow = process.chance.random() < self.of(process.name).slow
        return process.chance.uniform(0.5, 4.0) if slow else process.chance.uniform(*LATENCY)

    def streams_of(self, name: str) -> list[Stream]:
        return [stream for stream in self.streams if stream.sender.name == name]

    def disconnect(self, process: Process) -> None:
        for stream in self.streams_of(process.name):
            stream.close()

    # -- requests ----------------------------------------------------------------------------------------------------

    def send(self, message: Message) -> None:
        chance, now = message.sender.chance, self.of(message.sender.name)
        message.conditions = now
        if chance.random() < now.refused:
            self.later(self.latency(message.sender), _fail, message.answer, "connection refused", False)
        elif chance.random() < now.lost_requests:
            self.later(message.seconds, _fail, message.answer, "no answer in time")
        else:
            self.later(self.latency(message.sender), self._arrive, message)

    def _arrive(self, message: Message) -> None:
        chance = message.sender.chance
        if message.sender.is_dead and chance.random() < 0.5:
            return
        if chance.random() < message.conditions.errors:
            code, reason = chance.choice([(429, "TooManyRequests"), (500, "InternalError"), (503, "Unavailable")])
            self._answer(message, ApiError(code, reason, "injected", retry_after=chance.choice([None, 1.0])))
            return
        if (answer := self.answered(message)) is not None:
            self._answer(message, answer)
            return
        try:
            request = self._request(message)
            review = self.admit(message, request) if message.is_write else None
        except StatusError as refused:
            self._answer(message, error_of(refused))
            return
        if review is None:
            self._carry_out(message, request)
        else:
            self._loop.create_task(self._after_review(message, request, review), context=Context())

    async def _after_review(self, message: Message, request: ResourceRequest, review: Awaitable[bytes]) -> None:
        try:
            message.body = await review
        except StatusError as refused:
            self._answer(message, error_of(refused))
            return
        self._carry_out(message, self._request(message))

    def _carry_out(self, message: Message, request: ResourceRequest) -> None:
        try:
            result: bytes | RequestFailed = self.api.answer(request).body
        except StatusError as refused:
            result = error_of(refused)
        if message.is_write:
            outcome = "" if isinstance(result, bytes) else f": {result}"
            self.trace(f"{message.user} {message.method} {message.path}{outcome}")
            if isinstance(result, bytes):
                self.written(message, request)
        if message.sender.chance.random() < message.conditions.lost_answers:
            self.later(message.seconds, _fail, message.answer, "the answer was lost")
        else:
            self._answer(message, result)

    def _answer(self, message: Message, result: bytes | RequestFailed) -> None:
        self.later(self.latency(message.sender), _deliver, message.answer, result)

    def _request(self, message: Message) -> ResourceRequest:
        call = parse_call(message.method, message.path, urlencode(message.params))
        assert call is not None, message.path
        resource = self.api.resource(call)
        kind = message.content_type if message.body else ""
        return ResourceRequest(call, resource, message.accept, kind, message.body, "stromboli")

    # -- watches -----------------------------------------------------------------------------------------------------

    def open_stream(self, message: Message, opened: asyncio.Future[Stream]) -> None:
        chance, now = message.sender.chance, self.of(message.sender.name)
        if chance.random() < now.refused + now.lost_requests:
            self.later(self.latency(message.sender), _fail, opened, "connection refused", False)
        else:
            self.later(self.latency(message.sender), self._open, message, opened)

    def _open(self, message: Message, opened: asyncio.Future[Stream]) -> None:
        if message.sender.is_dead or opened.done():
            return
        try:
            watch = self.api.watch(self._request(message))
        except StatusError as refused:
            opened.set_exception(error_of(refused))
            return
        stream = Stream(self, message.sender, watch, float(message.params.get("timeoutSeconds", "300")))
        self.streams[stream] = None
        opened.set_result(stream)


class NetworkClient(Client):
    """The client of one process."""

    def __init__(
        self,
        network: Network,
        process: Process,
        *,
        user: str = "",
        timeout: float = 30.0,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(_CONNECTION)
        self._network, self._process, self._user = network, process, user or process.name
        self._seconds, self._is_allowed = timeout, may_write

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
        if body is not None and not self._is_allowed():
            raise Unreachable("not the leader any more", sent=False)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        seconds = self._seconds if timeout is None else timeout
        self._network.send(
            Message(
                self._process, self._user, method, path, params or {}, body or b"", content_type, accept, seconds,
                answer,
            )
        )  # fmt: skip
        return await answer

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], *, idle_seconds: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        loop = asyncio.get_running_loop()
        unused: asyncio.Future[bytes] = loop.create_future()
        opened: asyncio.Future[Stream] = loop.create_future()
        accept = "application/json"
        message = Message(self._process, self._user, "GET", path, params, b"", "", accept, self._seconds, unused)
        self._network.open_stream(message, opened)
        stream = await opened
        try:
            yield stream.lines(idle_seconds)
        finally:
            stream.close()


def error_of(refused: StatusError) -> ApiError:
    status = refused.status()
    return ApiError(refused.code, str(status.get("reason", "")), str(status.get("message", "")))


def _deliver(answer: asyncio.Future[bytes], result: bytes | RequestFailed) -> None:
    if answer.done():
        return
    if isinstance(result, bytes):
        answer.set_result(result)
    else:
        answer.set_exception(result)


def _fail(answer: asyncio.Future[Any], message: str, sent: bool = True) -> None:
    if not answer.done():
        answer.set_exception(Unreachable(message, sent=sent))
