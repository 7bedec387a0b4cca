"""Keeps a sink in sync with the server's objects of one kind, indefinitely.

A reflector lists, then watches. Where the server supports it, both are one stream; otherwise a paged list comes first.
A watch that ends is resumed at its last version. When that version has expired, everything is listed again and compared
with the sink's contents. No failure of the server or the network ends a reflector: it retries with growing delays and
reports in `problem` what fails.
"""

from __future__ import annotations

import asyncio
import random
import time
from typing import Generic, TypeVar

from stromboli.kube.client.api_errors import ApiError, RequestFailed, Unreachable
from stromboli.kube.client.client import PAGE_SIZE, Client, selectors
from stromboli.kube.client.decoding import Unreadable
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.kube.watch.failures import Stage, StaleListError, WatchFailures
from stromboli.kube.watch.list_buffer import ListBuffer
from stromboli.kube.watch.object_store import Sink, WatchStore
from stromboli.kube.watch.watch_events import BOOKMARK, CHANGES, DELETED, WatchEvent, decode_event, ends_initial_events
from stromboli.kube.work.retry import RetryPolicy

T = TypeVar("T", bound=TopLevel)

IDLE_SECONDS = 120.0
"""A server sends a bookmark about once a minute; a watch that is silent for two minutes is dead."""
PROBE_SECONDS = 60.0
"""How often to check whether an optional kind has been installed."""
STALE_LIST_SECONDS = 60.0
"""A server whose lists are older than known objects for this long was restored from a backup."""
MIN_WATCH_SECONDS, MAX_WATCH_SECONDS = 300, 600
MAX_SILENT_WATCHES = 2
RETRY = RetryPolicy(min_delay=0.8, max_delay=30.0)

__all__ = ["Reflector", "Sink"]


class Reflector(Generic[T]):
    """Lists and watches one kind and passes every change to a sink."""

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
        retry: RetryPolicy | None = None,
    ) -> None:
        self.resource = resource
        #: Set when the first list is complete; never cleared.
        self.synced = asyncio.Event()
        #: Why the reflector is not up to date; empty if it is.
        self.problem = ""
        self.events = 0
        self.relists = 0
        self.reconnects = 0
        self.errors = 0
        #: Whether a list is being passed to the sink: until it is complete, the sink is inconsistent.
        self.is_replacing = False
        #: When the server last sent something, by the monotonic clock.
        self.last_seen = time.monotonic()
        self._client = client
        self._store = WatchStore(resource, sink)
        self._namespace = namespace
        self._selectors = selectors(label_selector, field_selector)
        self._idle_seconds = idle_seconds
        self._stale_list_seconds = stale_list_seconds
        self._page_size = page_size
        self._failures = WatchFailures(retry or RETRY, optional=optional, probe_seconds=probe_seconds)
        self._random = random.SystemRandom()
        self._version = ""
        self._stage = Stage.WATCHING
        self._streams_lists = True
        self._streaming_refused = False
        self._list_buffer: ListBuffer[T] | None = None
        self._stale_since: float | None = None
        self._live_since: float | None = None
        self._silent_watches = 0

    @property
    def unreadable(self) -> int:
        """The number of objects that could not be decoded."""
        return self._store.unreadable

    @property
    def handler_failures(self) -> int:
        """Return how often the sink raised an error."""
        return self._store.failures

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            self._live_since = None
            try:
                await self._follow()
                delay = self._failures.ended(self._live_seconds())
            except RequestFailed as error:
                delay = await self._recover(error)
            if delay:
                await asyncio.sleep(delay)

    async def _follow(self) -> None:
        """List if necessary, then watch until the stream ends."""
        if self._version:
            self.reconnects += 1
        else:
            self._list_buffer = ListBuffer(self._store)
            if self._streams_lists and self._client.streams_lists:
                return await self._watch_list()
            await self._list()
        return await self._watch(Stage.WATCHING, {"resourceVersion": self._version})

    async def _watch_list(self) -> None:
        params = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        await self._watch(Stage.OPENING_STREAMED_LIST, params)
        if self._list_buffer is not None:
            raise Unreachable(f"{self.resource.name}: the stream ended before the list was complete", sent=True)

    async def _list(self) -> None:
        self._stage = Stage.LISTING
        try:
            version = await self._read_pages(self._page_size)
        except ApiError as error:
            if not error.is_expired:
                raise
            version = await self._read_pages(0)
        if self._streaming_refused:
            self._client.streams_lists = False
        await self._settle(version)

    async def _read_pages(self, limit: int) -> str:
        """Return the version of the list. Pages may expire before the last one is read; a limit of 0 reads no pages."""
        list_buffer = self._list_buffer = ListBuffer(self._store)
        version = ""
        async for page in self._client.pages(self.resource, self._selectors, namespace=self._namespace, limit=limit):
            self._reject_stale(page.resource_version)
            self._connected()
            list_buffer.take_page(page)
            version = page.resource_version
            await asyncio.sleep(0)
        return version

    async def _watch(self, stage: Stage, params: dict[str, str]) -> None:
        self._stage = stage
        seconds = str(self._random.randint(MIN_WATCH_SECONDS, MAX_WATCH_SECONDS))
        query = {**self._selectors, "watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": seconds, **params}
        path = self.resource.path(namespace=self._namespace)
        async with self._client.stream(path, query, idle_seconds=self._idle_seconds) as lines:
            self._connected()
            if self._list_buffer is None:
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
        if self._list_buffer is not None:
            self._list_buffer.drop(entry) if deleted else self._list_buffer.take(entry)
        elif isinstance(entry, Unreadable):
            self._store.remove_unreadable(entry) if deleted else self._store.refuse(entry)
            self._version = entry.resource_version or self._version
        else:
            self._store.remove(entry) if deleted else self._store.apply(entry)
            self._version = entry.metadata.resource_version or self._version

    async def _take_bookmark(self, bookmark: T | Unreadable) -> None:
        """Advance the version; the bookmark may also end the initial list."""
        if isinstance(bookmark, Unreadable):
            return
        version = bookmark.metadata.resource_version or ""
        if self._list_buffer is None:
            self._version = version or self._version
            self._store.advance(version)
        elif ends_initial_events(bookmark):
            self._reject_stale(version)
            await self._settle(version)
            self._mark_live()

    async def _settle(self, version: str) -> None:
        list_buffer, self._list_buffer = self._list_buffer, None
        if list_buffer is not None:
            self.is_replacing = True
            try:
                await list_buffer.commit(version)
            finally:
                self.is_replacing = False
        self._version = version
        self._stale_since = None
        self.relists += self.synced.is_set()
        self.synced.set()

    def _reject_stale(self, version: str) -> None:
        if not self._store.is_stale(version):
            return
        now = time.monotonic()
        if self._stale_since is None:
            self._stale_since = now
        if now - self._stale_since < self._stale_list_seconds:
            raise StaleListError(
                f"{self.resource.name}: the server's list {version} is older than {self._store.newest}"
            )
        self._store.forget_history()

    async def _recover(self, error: RequestFailed) -> float:
        self.errors += 1
        recovery = self._failures.recover(error, self._stage, self._live_seconds())
        self._list_buffer = None
        self._streams_lists = self._streams_lists and not recovery.plain
        self._streaming_refused = self._streaming_refused or (recovery.plain and isinstance(error, ApiError))
        self.problem = recovery.problem
        if recovery.relist or self._is_silent():
            self._version = ""
        if recovery.absent:
            await ListBuffer(self._store).commit("")
        if recovery.absent or recovery.enough:
            self.synced.set()
        return recovery.delay

    def _is_silent(self) -> bool:
        """Report whether several watches in a row had no event: the server may never reach their version."""
        if self._live_since is None or self._live_seconds() < self._idle_seconds:
            return False
        self._silent_watches = 0 if self.last_seen > self._live_since else self._silent_watches + 1
        return self._silent_watches >= MAX_SILENT_WATCHES

    def _mark_live(self) -> None:
        self._stage = Stage.WATCHING
        self._live_since = self.last_seen = time.monotonic()

    def _live_seconds(self) -> float:
        """Return for how long the watch has been live. A list does not count, however long it takes."""
        return 0.0 if self._live_since is None else time.monotonic() - self._live_since

    def _connected(self) -> None:
        self.last_seen = time.monotonic()
        self.problem = ""
