"""What can happen to requests on their way, where and as often as a story wants.

    proxy.faults.add(BINDINGS, LoseAnswer(), times=2, after=10)

lets ten bindings pass, has the next two carried out without an answer, and passes all later ones. The first fault that
fires and ends the request decides; delays and gates let the next one decide as well.
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
#: How often somebody who waits for another thread looks, in seconds.
_LOOK = 0.002


class Action(Protocol):
    """What a fault does."""

    async def happen(self, call: Call) -> bool:
        """Do it; whether the request is over."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Serve the request, later."""

    seconds: float

    async def happen(self, call: Call) -> bool:
        await asyncio.sleep(self.seconds)
        return False


@dataclass(frozen=True, slots=True)
class Answer:
    """Refuse the request in a server's words, without asking the server."""

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
    """The server never hears of it, and the connection ends."""

    reset: bool = False

    async def happen(self, call: Call) -> bool:
        call.cut(reset=self.reset)
        return True


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """The server does what it was asked, and the connection ends instead of an answer."""

    reset: bool = False

    async def happen(self, call: Call) -> bool:
        await call.fetch()
        call.cut(reset=self.reset)
        return True


@dataclass(frozen=True, slots=True)
class Hang:
    """Nothing is ever said: to the server nothing at all, to the client at most that it will be answered."""

    begins: bool = False

    async def happen(self, call: Call) -> bool:
        if self.begins:
            await call.begin(Answered(200, _JSON, b""), 1 << 30)
        await asyncio.Event().wait()
        return True


@dataclass(frozen=True, slots=True)
class CutBody:
    """The server does what it was asked; the connection ends in the middle of the answer."""

    reset: bool = False

    async def happen(self, call: Call) -> bool:
        answered = await call.fetch()
        await call.begin(answered, len(answered.body))
        await call.write(answered.body[: len(answered.body) // 2])
        call.cut(reset=self.reset)
        return True


@dataclass(frozen=True, slots=True)
class Truncate:
    """The server does what it was asked; the answer looks complete and is half of the JSON."""

    async def happen(self, call: Call) -> bool:
        answered = await call.fetch()
        await call.answer(answered.status, answered.body[: len(answered.body) // 2], answered.headers)
        return True


@dataclass(frozen=True, slots=True)
class WrongType:
    """The server does what it was asked; a page for people comes instead of the answer, as gateways have them."""

    async def happen(self, call: Call) -> bool:
        await call.fetch()
        await call.answer(200, b"<html><body>Welcome</body></html>", {"Content-Type": "text/html"})
        return True


@dataclass(frozen=True, slots=True)
class Oversize:
    """The server does what it was asked; the answer is followed by this many blanks, packed small if `packed`."""

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
    """Answer with what the server said the first time, as a replica does that has fallen behind."""

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
    """Requests stop here until somebody, in any thread, opens the gate or sends them away."""

    #: Those that have stopped here, in their order.
    waiting: list[Call] = field(default_factory=list)
    _opened: threading.Event = field(default_factory=threading.Event)
    _refused: threading.Event = field(default_factory=threading.Event)

    @property
    def is_reached(self) -> bool:
        return bool(self.waiting)

    def open(self) -> None:
        """Everybody may pass, now and later."""
        self._opened.set()

    def refuse(self) -> None:
        """Nobody passes: connections end, and the server never hears of it."""
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
    """Which requests, by regular expressions: the method, something in the path with its query, something in the user
    agent. What is left empty matches everything.
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
    """A fault in place: how often it may still happen, how many requests pass before, how often it has happened."""

    match: Match
    action: Action
    #: None for as long as it is in place.
    times: int | None = 1
    after: int = 0
    #: How likely it is that a request is hit when its turn has come.
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
    """The faults that are in place. Chance is that of the seed."""

    def __init__(self, seed: int = 0) -> None:
        self._faults: list[Fault] = []
        self._chance = random.Random(seed)  # noqa: S311 - nothing is kept secret here

    def add(self, match: Match, action: Action, *, times: int | None = 1, after: int = 0, chance: float = 1.0) -> Fault:
        fault = Fault(match, action, times, after, chance)
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Nothing happens to requests that come from now on."""
        self._faults.clear()

    async def happen(self, call: Call) -> bool:
        """Let everything happen that is to happen to a request; whether it is over."""
        for fault in list(self._faults):
            if fault.fires(call, self._chance) and await fault.action.happen(call):
                return True
        return False
