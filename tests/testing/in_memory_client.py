"""A client that asks the embedded server directly, without a network between them, and a network's misbehaviour on
demand.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

from stromboli.binding.process.crash_point_client import CrashPointClient, write_name
from stromboli.kube.client.api_errors import ApiError, Unreachable
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.config.credentials import static_token
from stromboli.local.api_server.api import Api, ResourceRequest
from stromboli.local.api_server.control_plane import ControlPlane
from stromboli.local.api_server.errors import StatusError
from stromboli.local.api_server.watches import StoreWatch
from stromboli.local.http.calls import parse_call
from stromboli.local.http.documents import DiscoveryDocuments

#: The paths of the groups, and of the kinds in a version of a group.
_DISCOVERY = re.compile(r"/apis|/api/v1|/apis/[^/]+/[^/]+")


@dataclass(slots=True)
class InjectedFaults:
    """The shares of requests that fail, by kind of failure."""

    chance: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311
    refused: float = 0.0
    lost: float = 0.0
    conflicts: float = 0.0
    slow: float = 0.0
    #: The names of writes that were carried out, with the object they were about.
    writes: list[tuple[str, str]] = field(default_factory=list)

    def stop(self) -> None:
        self.refused = self.lost = self.conflicts = self.slow = 0.0


class InMemoryClient(Client):
    def __init__(
        self,
        plane: ControlPlane,
        injected: InjectedFaults | None = None,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        Client.__init__(self, Connection("http://memory", None, static_token("")))
        self._api, self._documents = Api(plane), DiscoveryDocuments(plane.registry)
        self._faults = injected or InjectedFaults()
        self._allowed = may_write
        #: A dead process sends nothing and receives nothing.
        self.is_dead = False

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
        chance = self._faults.chance
        await self._unless_dead()
        await asyncio.sleep(chance.uniform(0.001, 0.01))
        await self._unless_dead()
        if _DISCOVERY.fullmatch(path):
            return self._discover(path, accept)
        asked = partial(self._asked, method, path, params, body, content_type, accept)
        serve = self._serve(write_name(method, path), path, asked)
        if chance.random() >= self._faults.slow:
            return await serve
        # What is on its way when its sender dies arrives at once, or never.
        return await asyncio.shield(asyncio.ensure_future(self._later(chance.uniform(0.5, 5.0), serve)))

    def _discover(self, path: str, accept: str) -> bytes:
        try:
            return self._documents.answer(path, accept, "").body
        except StatusError as refused:
            raise _error(refused) from None

    async def _later(self, seconds: float, serve: Coroutine[Any, Any, bytes]) -> bytes:
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end and not self.is_dead:
            await asyncio.sleep(0.1)
        if self.is_dead and self._faults.chance.random() < 0.5:
            serve.close()
            await asyncio.Event().wait()
        return await serve

    async def _serve(self, write: str, path: str, asked: Callable[[], ResourceRequest]) -> bytes:
        injected, chance = self._faults, self._faults.chance
        if write and not self._allowed():
            raise Unreachable("not the leader any more", sent=False)
        if chance.random() < injected.refused:
            status, reason = chance.choice([(429, "TooManyRequests"), (500, "InternalError"), (503, "Unavailable")])
            raise ApiError(status, reason, "injected", retry_after=chance.choice([None, 1.0]))
        if write and chance.random() < injected.conflicts:
            raise ApiError(409, "Conflict", "injected")
        try:
            answer = self._api.answer(asked()).body
        except StatusError as refused:
            raise _error(refused) from None
        if write:
            injected.writes.append((write, path))
        if chance.random() < injected.lost:
            raise Unreachable("the answer was lost", sent=True)
        return answer

    async def _unless_dead(self) -> None:
        if self.is_dead:
            await asyncio.Event().wait()

    def _asked(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        body: bytes | None,
        content_type: str,
        accept: str,
    ) -> ResourceRequest:
        call = parse_call(method, path, urlencode(params or {}))
        assert call is not None
        try:
            resource = self._api.resource(call)
        except StatusError as refused:
            raise _error(refused) from None
        return ResourceRequest(call, resource, accept, content_type if body else "", body or b"", "stromboli")

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], *, idle_seconds: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        asked = self._asked("GET", path, params, None, "", "application/json")
        try:
            watch = self._api.watch(asked)
        except StatusError as refused:
            raise _error(refused) from None
        with watch:
            yield self._lines(watch)

    async def _lines(self, watch: StoreWatch) -> AsyncIterator[bytes]:
        for line in watch.opening():
            yield line
        while True:
            await asyncio.sleep(self._faults.chance.uniform(0.0, 0.02))
            watch.wake.clear()
            try:
                changes = watch.news()
            except StatusError as refused:
                raise _error(refused) from None
            for change in changes:
                if (encoded := watch.line(change)) is not None:
                    yield encoded
            await watch.wake.wait()


class SimulatedClient(CrashPointClient, InMemoryClient):
    """The binder's client without a network. `point` may kill the simulated process."""

    def __init__(
        self,
        plane: ControlPlane,
        injected: InjectedFaults,
        *,
        point: Callable[[str], None] = lambda name: None,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        InMemoryClient.__init__(self, plane, injected, may_write)
        self._point = point


def _error(refused: StatusError) -> ApiError:
    status = refused.status()
    return ApiError(refused.code, str(status.get("reason", "")), str(status.get("message", "")))
