"""Keeps a sink true to the server's objects of one kind, for ever.

A reflector lists, then watches. Where the server can, both are one stream; where it cannot, a paged list comes first.
A watch that ends is taken up where it ended. When the server no longer remembers that point, everything is listed
again and compared with what the sink knows. Nothing that the server or the network does ends a reflector: it waits,
longer each time, and says in `problem` what it is waiting for.
"""

from __future__ import annotations

import asyncio
import random
import time
from typing import Generic, TypeVar

from stromboli.kube.client.api_errors import ApiError, RequestFailed, Unreachable
from stromboli.kube.client.backoff import Backoff
from stromboli.kube.client.client import PAGE_SIZE, Client, selectors
from stromboli.kube.client.decoding import Unreadable
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.kube.watch.failures import Setbacks, Stage, StaleListError
from stromboli.kube.watch.list_buffer import ListBuffer
from stromboli.kube.watch.object_store import Mirror, Sink
from stromboli.kube.watch.watch_events import (
    BOOKMARK,
    CHANGES,
    DELETED,
    WatchEvent,
    decode_event,
    ends_initial_events,
)

T = TypeVar("T", bound=TopLevel)

IDLE_SECONDS = 120.0
"""A server sends a bookmark about once a minute. One that is silent for two is not there any more."""
PROBE_SECONDS = 60.0
"""How often to look whether an optional kind has been installed meanwhile."""
STALE_LIST_SECONDS = 60.0
"""A server whose lists are older than what we know for so long was restored from a copy: it began a new history."""
MIN_WATCH_SECONDS, MAX_WATCH_SECONDS = 300, 600
MAX_SILENT_WATCHES = 2

__all__ = ["Reflector", "Sink"]


class Reflector(Generic[T]):
    """Tells a sink about every object of a kind, from now on."""

    def __init__(
        self,
        client: Client,
        resource: Resource[T],
        sink: Sink[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        optional: bool = False,
        idle_seconds: float = IDLE_SECONDS,
        probe_seconds: float = PROBE_SECONDS,
        stale_list_seconds: float = STALE_LIST_SECONDS,
        page_size: int = PAGE_SIZE,
        backoff: Backoff | None = None,
    ) -> None:
        self.resource = resource
        #: Set when the sink knows all that there is; never cleared, because what is known stays known.
        self.synced = asyncio.Event()
        #: What keeps the reflector from being up to date, in a sentence; empty if nothing does.
        self.problem = ""
        self.events = 0
        self.relists = 0
        self.reconnects = 0
        self.errors = 0
        #: Whether the sink is being told of a list just now: what it knows meanwhile was never true at one moment.
        self.is_replacing = False
        #: When the server was last heard of, by the monotonic clock.
        self.last_seen = time.monotonic()
        self._client = client
        self._mirror = Mirror(resource, sink)
        self._namespace = namespace
        self._selectors = selectors(label_selector, field_selector)
        self._idle_seconds = idle_seconds
        self._stale_list_seconds = stale_list_seconds
        self._page_size = page_size
        self._setbacks = Setbacks(backoff or Backoff(), optional=optional, probe_seconds=probe_seconds)
        self._chance = random.SystemRandom()
        self._version = ""
        self._stage = Stage.WATCHING
        self._streams_lists = True
        self._streaming_refused = False
        self._gathering: ListBuffer[T] | None = None
        self._stale_since: float | None = None
        self._live_since: float | None = None
        self._silent_watches = 0

    @property
    def unreadable(self) -> int:
        """How many objects could not be decoded."""
        return self._mirror.unreadable

    @property
    def handler_failures(self) -> int:
        """How often the sink raised."""
        return self._mirror.failures

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._live_since = None
            try:
                await self._follow()
                delay = self._setbacks.ended(self._live_seconds())
            except RequestFailed as error:
                delay = await self._recover(error)
            if delay:
                await asyncio.sleep(delay)

    async def _follow(self) -> None:
        """Lists if need be, and watches until the stream ends."""
        if self._version:
            self.reconnects += 1
        else:
            self._gathering = ListBuffer(self._mirror)
            if self._streams_lists and self._client.streams_lists:
                return await self._watch_list()
            await self._list()
        return await self._watch(Stage.WATCHING, {"resourceVersion": self._version})

    async def _watch_list(self) -> None:
        params = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        await self._watch(Stage.OPENING_STREAMED_LIST, params)
        if self._gathering is not None:
            raise Unreachable(f"{self.resource.name}: the stream ended before the list did", sent=True)

    async def _list(self) -> None:
        self._stage = Stage.LISTING
        try:
            version = await self._gather_pages(self._page_size)
        except ApiError as error:
            if not error.is_expired:
                raise
            version = await self._gather_pages(0)
        if self._streaming_refused:
            self._client.streams_lists = False
        await self._settle(version)

    async def _gather_pages(self, limit: int) -> str:
        """The version of the list. Pages may expire before the last one is read; everything at once (0) cannot."""
        gathering = self._gathering = ListBuffer(self._mirror)
        version = ""
        async for page in self._client.pages(self.resource, self._selectors, namespace=self._namespace, limit=limit):
            self._reject_stale(page.resource_version)
            self._connected()
            gathering.take_page(page)
            version = page.resource_version
            await asyncio.sleep(0)
        return version

    async def _watch(self, stage: Stage, params: dict[str, str]) -> None:
        self._stage = stage
        seconds = str(self._chance.randint(MIN_WATCH_SECONDS, MAX_WATCH_SECONDS))
        query = {**self._selectors, "watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": seconds, **params}
        path = self.resource.path(namespace=self._namespace)
        async with self._client.stream(path, query, idle_seconds=self._idle_seconds) as lines:
            self._connected()
            if self._gathering is None:
                self._mark_live()
            else:
                self._stage = Stage.STREAMING_LIST
            async for line in lines:
                self.last_seen = time.monotonic()
                await self._take(decode_event(self.resource, line))

    async def _take(self, event: WatchEvent[T]) -> None:
        entry = event.object
        if event.type == BOOKMARK:
            await self._take_bookmark(entry)
        elif event.type in CHANGES:
            self.events += 1
            self._take_change(event.type == DELETED, entry)

    def _take_change(self, deleted: bool, entry: T | Unreadable) -> None:
        if self._gathering is not None:
            self._gathering.drop(entry) if deleted else self._gathering.take(entry)
        elif isinstance(entry, Unreadable):
            self._mirror.remove_unreadable(entry) if deleted else self._mirror.refuse(entry)
            self._version = entry.resource_version or self._version
        else:
            self._mirror.remove(entry) if deleted else self._mirror.apply(entry)
            self._version = entry.metadata.resource_version or self._version

    async def _take_bookmark(self, bookmark: T | Unreadable) -> None:
        """History went on without us, and perhaps the list is complete."""
        if isinstance(bookmark, Unreadable):
            return
        version = bookmark.metadata.resource_version or ""
        if self._gathering is None:
            self._version = version or self._version
            self._mirror.advance(version)
        elif ends_initial_events(bookmark):
            self._reject_stale(version)
            await self._settle(version)
            self._mark_live()

    async def _settle(self, version: str) -> None:
        gathering, self._gathering = self._gathering, None
        if gathering is not None:
            self.is_replacing = True
            try:
                await gathering.settle(version)
            finally:
                self.is_replacing = False
        self._version = version
        self._stale_since = None
        self.relists += self.synced.is_set()
        self.synced.set()

    def _reject_stale(self, version: str) -> None:
        if not self._mirror.is_stale(version):
            return
        now = time.monotonic()
        if self._stale_since is None:
            self._stale_since = now
        if now - self._stale_since < self._stale_list_seconds:
            raise StaleListError(
                f"{self.resource.name}: the server's list {version} is older than {self._mirror.newest}"
            )
        self._mirror.forget_history()

    async def _recover(self, error: RequestFailed) -> float:
        self.errors += 1
        verdict = self._setbacks.judge(error, self._stage, self._live_seconds())
        self._gathering = None
        self._streams_lists = self._streams_lists and not verdict.plain
        self._streaming_refused = self._streaming_refused or (verdict.plain and isinstance(error, ApiError))
        self.problem = verdict.problem
        if verdict.relist or self._is_silent():
            self._version = ""
        if verdict.absent:
            await ListBuffer(self._mirror).settle("")
        if verdict.absent or verdict.enough:
            self.synced.set()
        return verdict.delay

    def _is_silent(self) -> bool:
        """Two watches in a row that said nothing at all may wait for a version that this server will never reach."""
        if self._live_since is None or self._live_seconds() < self._idle_seconds:
            return False
        self._silent_watches = 0 if self.last_seen > self._live_since else self._silent_watches + 1
        return self._silent_watches >= MAX_SILENT_WATCHES

    def _mark_live(self) -> None:
        self._stage = Stage.WATCHING
        self._live_since = self.last_seen = time.monotonic()

    def _live_seconds(self) -> float:
        """For how long changes were seen as they happened. A list, however long it takes, is no success yet."""
        return 0.0 if self._live_since is None else time.monotonic() - self._live_since

    def _connected(self) -> None:
        self.last_seen = time.monotonic()
        self.problem = ""
