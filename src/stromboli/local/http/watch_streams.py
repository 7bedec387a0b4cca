"""Watches over HTTP, with injected faults."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from aiohttp import web

from stromboli.local.api_server.errors import StatusError, expired
from stromboli.local.api_server.faults import CutWatch, Duplicate, ExpireWatch, Faults, HangWatch, Reorder, WatchAction
from stromboli.local.api_server.store import encode, event_line
from stromboli.local.api_server.watches import StoreWatch
from stromboli.local.http.calls import ApiCall

_MAX_WATCH_SECONDS = 1800
_HEADERS = {"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
#: Lines are sent in batches of about this many bytes.
_CHUNK = 256 * 1024
#: Events within this time in seconds are sent as one batch; the first is not delayed.
_TOGETHER = 0.005


class _Over(Exception):
    """The stream has ended."""


class Streams:
    """All open watches of the server."""

    def __init__(self, faults: Faults, bookmark_interval: float) -> None:
        self._faults = faults
        self._bookmark_interval = bookmark_interval
        self._open: set[asyncio.Transport] = set()

    def __len__(self) -> int:
        return len(self._open)

    async def run(self, request: web.BaseRequest, call: ApiCall, watch: StoreWatch) -> web.StreamResponse:
        """Send until the time-out, the client disconnects, or the watch falls too far behind."""
        response = web.StreamResponse(headers=_HEADERS)
        response.enable_chunked_encoding()
        with watch, suppress(_Over, ConnectionError):
            await response.prepare(request)
            if (transport := request.transport) is not None:
                await self._send_to(_Stream(response, transport, call, watch, self._faults))
        return response

    async def _send_to(self, stream: _Stream) -> None:
        self._open.add(stream.transport)
        try:
            await self._send_all(stream)
        finally:
            self._open.discard(stream.transport)

    async def _send_all(self, stream: _Stream) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + (stream.call.number("timeoutSeconds") or _MAX_WATCH_SECONDS)
        await stream.open()
        sent = 0.0
        while (left := end - loop.time()) > 0:
            is_woken = await stream.wait(min(left, self._bookmark_interval))
            if (pause := sent + _TOGETHER - loop.time()) > 0:
                await asyncio.sleep(pause)
            sent = loop.time()
            await stream.send_news()
            if not is_woken:
                await stream.bookmark()

    def drop(self) -> None:
        """Cut all streams."""
        for transport in list(self._open):
            transport.abort()


class _Stream:
    """One open watch: its response, and its injected faults."""

    def __init__(
        self,
        response: web.StreamResponse,
        transport: asyncio.Transport,
        call: ApiCall,
        watch: StoreWatch,
        faults: Faults,
    ) -> None:
        self.call = call
        self._response = response
        self.transport = transport
        self._watch = watch
        self._faults = faults
        #: The last line sent, for faults that repeat it.
        self._recent: list[bytes] = []

    async def open(self) -> None:
        """Send the initial objects, and the changes since the client's version."""
        await self._deliver(self._watch.opening())
        await self.send_news()

    async def wait(self, seconds: float) -> bool:
        """Wait for news; return whether there may be some before the time is up."""
        try:
            async with asyncio.timeout(seconds):
                await self._watch.wake.wait()
        except TimeoutError:
            return False
        return True

    async def send_news(self) -> None:
        self._watch.wake.clear()
        try:
            changes = self._watch.news()
        except StatusError as refused:
            await self._fail(refused)
        await self._deliver(line for change in changes if (line := self._watch.line(change)) is not None)

    async def bookmark(self) -> None:
        if self._watch.wants_bookmarks:
            await self._deliver([self._watch.bookmark()])

    async def _deliver(self, lines: Iterable[bytes]) -> None:
        """Send the lines, modified by a fault if one applies."""
        if not self._faults:
            await self._send(lines)
        elif found := list(lines):
            action = self._faults.on_watch(self.call)
            await self._send(found if action is None else await self._disturbed(found, action))

    async def _send(self, lines: Iterable[bytes]) -> None:
        chunk: list[bytes] = []
        size = 0
        for line in lines:
            chunk.append(line)
            size += len(line)
            if size >= _CHUNK:
                await self._response.write(b"".join(chunk))
                chunk, size = [], 0
        if chunk:
            await self._response.write(b"".join(chunk))

    async def _fail(self, refused: StatusError) -> None:
        """Send an error event, and end the stream."""
        await self._response.write(event_line("ERROR", encode(refused.status())))
        raise _Over

    async def _disturbed(self, lines: list[bytes], action: WatchAction) -> list[bytes]:
        match action:
            case CutWatch():
                self.transport.abort()
                raise _Over
            case ExpireWatch():
                await self._fail(expired())
            case HangWatch():
                await asyncio.Event().wait()
            case Duplicate():
                return [line for line in lines for _ in range(2)]
            case Reorder(window):
                overtaken, self._recent = [*self._recent, *lines], lines[-window:]
                return _reordered(overtaken, window)
        return lines


def _reordered(lines: list[bytes], window: int) -> list[bytes]:
    """Each window backwards and then forwards: older lines follow newer ones, and the newest comes last."""
    disturbed: list[bytes] = []
    for start in range(0, len(lines), window):
        part = lines[start : start + window]
        disturbed += [*reversed(part), *part]
    return disturbed
