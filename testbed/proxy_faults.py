"""Faults that are injected into requests.

`proxy.faults.add(BINDINGS, LoseAnswer(), times=2, after=10)`

passes ten bindings, has the next two carried out without a response, and passes all later ones. The first fault that
ends the request decides; after delays and gates, the next one applies as well.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import re
import threading
from dataclasses import dataclass, field
from typing import Protocol

from testbed.proxy_call import Answered, Call

_JSON = {"Content-Type": "application/json"}
#: Interval in seconds of checks by threads that wait for each other.
_LOOK = 0.002


class Action(Protocol):
    """The effect of a fault."""

    async def happen(self, call: Call) -> bool:
        """Apply the fault; return whether the request is over."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Delay the request."""

    seconds: float

    async def happen(self, call: Call) -> bool:
        await asyncio.sleep(self.seconds)
        return False


@dataclass(frozen=True, slots=True)
class Answer:
    """Reject the request with an error response, without the server."""

    status: int
    reason: str = ""
    message: str = "injected"
    retry_after: int | None = None

    async def happen(self, call: Call) -> bool:
        said = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message}
        body = json.dumps({**said, "reason": self.reason, "code": self.status}).encode()
        asked = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        await call.answer(self.status, body, {**_JSON, **asked})
        return True


@dataclass(frozen=True, slots=True)
class LoseRequest:
    """Close the connection before the server receives the request."""

    reset: bool = False

    async def happen(self, call: Call) -> bool:
        call.cut(reset=self.reset)
        return True


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """The server carries out the request, and the connection is closed instead of a response."""

    reset: bool = False

    async def happen(self, call: Call) -> bool:
        await call.fetch()
        call.cut(reset=self.reset)
        return True


@dataclass(frozen=True, slots=True)
class Hang:
    """The request hangs: the server receives nothing, the client at most the headers of a response."""

    begins: bool = False

    async def happen(self, call: Call) -> bool:
        if self.begins:
            await call.begin(Answered(200, _JSON, b""), 1 << 30)
        await asyncio.Event().wait()
        return True


@dataclass(frozen=True, slots=True)
class CutBody:
    """The server carries out the request; the connection is closed in the middle of the response."""

    reset: bool = False

    async def happen(self, call: Call) -> bool:
        answered = await call.fetch()
        await call.begin(answered, len(answered.body))
        await call.write(answered.body[: len(answered.body) // 2])
        call.cut(reset=self.reset)
        return True


@dataclass(frozen=True, slots=True)
class Truncate:
    """The server carries out the request; the response looks complete and is half of the JSON."""

    async def happen(self, call: Call) -> bool:
        answered = await call.fetch()
        await call.answer(answered.status, answered.body[: len(answered.body) // 2], answered.headers)
        return True


@dataclass(frozen=True, slots=True)
class WrongType:
    """The server carries out the request; the response is an HTML page, as gateways send them."""

    async def happen(self, call: Call) -> bool:
        await call.fetch()
        await call.answer(200, b"<html><body>Welcome</body></html>", {"Content-Type": "text/html"})
        return True


@dataclass(frozen=True, slots=True)
class Oversize:
    """The server carries out the request; the response is followed by this many blanks, compressed if `packed`."""

    bytes: int
    packed: bool = False

    async def happen(self, call: Call) -> bool:
        answered = await call.fetch()
        body = answered.body.ljust(self.bytes)
        if self.packed:
            await call.answer(200, gzip.compress(body), {**_JSON, "Content-Encoding": "gzip"})
        else:
            await call.answer(200, body, _JSON)
        return True


@dataclass(slots=True)
class Replay:
    """Replay the first response of the server, as an outdated replica would."""

    _old: dict[str, Answered] = field(default_factory=dict)

    async def happen(self, call: Call) -> bool:
        path = call.path.partition("?")[0]
        if path not in self._old:
            self._old[path] = await call.fetch()
        old = self._old[path]
        await call.answer(old.status, old.body, old.headers)
        return True


@dataclass(slots=True)
class Gate:
    """Requests wait here until a test, in any thread, opens the gate or rejects them."""

    #: The requests that wait here, in order.
    waiting: list[Call] = field(default_factory=list)
    _opened: threading.Event = field(default_factory=threading.Event)
    _refused: threading.Event = field(default_factory=threading.Event)

    @property
    def is_reached(self) -> bool:
        return bool(self.waiting)

    def open(self) -> None:
        """Pass all requests, now and later."""
        self._opened.set()

    def refuse(self) -> None:
        """Reject all requests: connections are closed, and the server does not receive them."""
        self._refused.set()

    async def happen(self, call: Call) -> bool:
        if not self._opened.is_set():
            self.waiting.append(call)
        while not self._opened.is_set() and not self._refused.is_set():
            await asyncio.sleep(_LOOK)
        if self._refused.is_set():
            call.cut()
        return self._refused.is_set()


@dataclass(frozen=True, slots=True)
class Match:
    """Which requests, by regular expressions on the method, the path with its query, and the user agent. Empty
    expressions match everything.
    """

    method: str = ""
    path: str = ""
    agent: str = ""

    def hits(self, call: Call) -> bool:
        return (
            re.fullmatch(self.method or ".*", call.method) is not None
            and re.search(self.path, call.path) is not None
            and re.search(self.agent, call.agent) is not None
        )


@dataclass(slots=True)
class Fault:
    """An active fault: how often it may still occur, how many requests pass before, how often it has occurred."""

    match: Match
    action: Action
    #: None for no limit.
    times: int | None = 1
    after: int = 0
    #: The probability that a request is affected when its turn has come.
    chance: float = 1.0
    fired: int = field(default=0, init=False)

    def fires(self, call: Call, chance: random.Random) -> bool:
        if not self.match.hits(call) or (self.times is not None and self.fired >= self.times):
            return False
        if self.after:
            self.after -= 1
            return False
        if self.chance < 1.0 and chance.random() >= self.chance:
            return False
        self.fired += 1
        return True


class Faults:
    """The active faults. Randomness follows the seed."""

    def __init__(self, seed: int = 0) -> None:
        self._faults: list[Fault] = []
        self._chance = random.Random(seed)  # noqa: S311 - nothing is kept secret here

    def add(self, match: Match, action: Action, *, times: int | None = 1, after: int = 0, chance: float = 1.0) -> Fault:
        fault = Fault(match, action, times, after, chance)
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Remove all faults; they do not affect later requests."""
        self._faults.clear()

    async def happen(self, call: Call) -> bool:
        """Apply all faults of a request; return whether it is over."""
        for fault in list(self._faults):
            if fault.fires(call, self._chance) and await fault.action.happen(call):
                return True
        return False
