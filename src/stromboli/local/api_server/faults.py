"""Injected faults: errors of networks, gateways and overloaded servers.

`faults.add(Match(verb="create", plural="pods", subresource="binding"), LoseAnswer(), times=2, after=10)`

serves ten bindings, carries out the next two without response, and serves all later ones. The first matching fault
applies; after a delay, the next one applies as well.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from stromboli.local.http.calls import ApiCall


@dataclass(frozen=True, slots=True)
class Answer:
    """Reject the request with an error response, without effect."""

    status: int
    reason: str
    message: str = "injected"
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Delay:
    """Delay the request."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Delay the request until `release` is called."""

    _goes_on: asyncio.Event = field(default_factory=asyncio.Event)

    def release(self) -> None:
        self._goes_on.set()

    async def wait(self) -> None:
        await self._goes_on.wait()


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """Carry out the request and cut the connection instead of responding."""


@dataclass(frozen=True, slots=True)
class CutConnection:
    """Cut the connection without effect."""


@dataclass(frozen=True, slots=True)
class Garble:
    """Carry out the request and send half of the response."""


@dataclass(frozen=True, slots=True)
class Oversize:
    """Carry out the request and inflate the response to this many bytes."""

    bytes: int


@dataclass(frozen=True, slots=True)
class CutWatch:
    """End the stream in the middle of the next line: an object, a change or a bookmark."""


@dataclass(frozen=True, slots=True)
class HangWatch:
    """Keep the stream open without sending anything more, not even bookmarks."""


@dataclass(frozen=True, slots=True)
class ExpireWatch:
    """Send an Expired error in the stream, and end it."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Send every event twice."""


@dataclass(frozen=True, slots=True)
class Reorder:
    """Send windows of events backwards and then forwards: newer before older, older again, the newest last.

    Earlier events count as well, so that a single event is enough to repeat an older one.
    """

    window: int = 2


RequestAction = Answer | Delay | Hold | LoseAnswer | CutConnection | Garble | Oversize
WatchAction = CutWatch | HangWatch | ExpireWatch | Duplicate | Reorder
Action = RequestAction | WatchAction


@dataclass(frozen=True, slots=True)
class Match:
    """The requests that a fault applies to. Empty fields match everything; names may have wildcards."""

    verb: str = ""
    method: str = ""
    plural: str = ""
    #: None for any, the empty string for the object itself.
    subresource: str | None = None
    name: str = ""
    namespace: str = ""

    def hits(self, call: ApiCall) -> bool:
        return (
            self.verb in ("", call.verb)
            and self.method in ("", call.method)
            and self.plural in ("", call.plural)
            and self.subresource in (None, call.subresource)
            and self.namespace in ("", call.namespace)
            and (not self.name or fnmatchcase(call.name, self.name))
        )


@dataclass(slots=True)
class Fault:
    """An active fault: how often it may still occur, how many requests pass before, how often it has occurred."""

    match: Match
    action: Action
    #: None for no limit.
    times: int | None = 1
    after: int = 0
    fired: int = field(default=0, init=False)

    def fires(self, call: ApiCall) -> bool:
        if not self.match.hits(call) or (self.times is not None and self.fired >= self.times):
            return False
        if self.after:
            self.after -= 1
            return False
        self.fired += 1
        return True


class Faults:
    """The active faults."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def __bool__(self) -> bool:
        return bool(self._faults)

    def add(self, match: Match, action: Action, *, times: int | None = 1, after: int = 0) -> Fault:
        fault = Fault(match, action, times, after)
        self._faults.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        self._faults.remove(fault)

    def clear(self) -> None:
        self._faults.clear()

    def on_request(self, call: ApiCall) -> list[RequestAction]:
        """Yield the faults of a request: any number of delays, then at most one other."""
        actions: list[RequestAction] = []
        for fault in self._faults:
            if isinstance(fault.action, RequestAction) and fault.fires(call):
                actions.append(fault.action)
                if not isinstance(fault.action, Delay):
                    break
        return actions

    def on_watch(self, call: ApiCall) -> WatchAction | None:
        """The fault of a watch that is about to send something."""
        for fault in self._faults:
            if isinstance(fault.action, WatchAction) and fault.fires(call):
                return fault.action
        return None
