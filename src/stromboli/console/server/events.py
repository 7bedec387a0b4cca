"""Server-sent events. A stream has no queue: a reader that is slow gets the newest frame, and misses those between."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Any

import msgspec
from aiohttp import web

from stromboli.console.access.callers import ConsoleCallers, NotLoggedIn
from stromboli.console.access.rights import PersonRights
from stromboli.console.cache.frames import JOBS, ConsoleFrames
from stromboli.console.documents.events import StreamHello, StreamResync, StreamVersion
from stromboli.console.routes import EVENTS
from stromboli.console.server.calls import ConsoleCall
from stromboli.console.server.problems import NotReady
from stromboli.console.views.jobs import job_changes, whole_number
from stromboli.console.views.view import PersonView
from stromboli.serving.access import AccessUnavailable
from stromboli.visibility.limits import TooManyQuestions

#: Streams of one person, and of all.
_MAX_PER_PERSON, _MAX_STREAMS = 16, 300
#: Seconds between two signs of life, and in which a reader must take an event.
_HEARTBEAT_SECONDS, _SECONDS_TO_TAKE = 15.0, 30.0
_MAX_VERSION = 1 << 53
#: The resource of recorded cycles, which no frame has.
_DECISIONS = "decisions"

_log = logging.getLogger("stromboli.console")


class EventStreams:
    """Open streams."""

    def __init__(self, callers: ConsoleCallers) -> None:
        self._callers = callers
        self._open: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def close(self, application: web.Application) -> None:
        """End all streams: their readers connect again."""
        for task in self._tasks:
            task.cancel()

    async def stream(self, call: ConsoleCall) -> web.StreamResponse:
        """Send events until the client, its session or the server ends. Raises TooManyQuestions, ValueError."""
        known = whole_number(call.query, "jobs", 0, _MAX_VERSION) if call.query.get("jobs") else None
        frames, person = call.state.frames, call.caller.person.name
        if self._open[person] >= _MAX_PER_PERSON or self._open.total() >= _MAX_STREAMS:
            raise TooManyQuestions("too many event streams are open; close some pages")
        self._open[person] += 1
        task = asyncio.current_task()
        assert task is not None, "requests are handled by tasks"  # noqa: S101
        self._tasks.add(task)
        try:
            response = web.StreamResponse(headers={"Content-Type": EVENTS, "X-Accel-Buffering": "no"})
            await response.prepare(call.request)
            await EventReader(self._callers, call, frames, response, known).run()
        except (AccessUnavailable, NotReady):
            pass  # the stream ends, and its reader connects again
        except Exception as error:  # the response has begun: it cannot become an error
            if not isinstance(error, TimeoutError | ConnectionError):
                _log.error("event stream failed", exc_info=error)
            if call.request.transport is not None:
                call.request.transport.abort()
        finally:
            self._tasks.discard(task)
            self._open[person] -= 1
            if not self._open[person]:
                del self._open[person]
        return response


class EventReader:
    """One reader. `known` is the version of the table of jobs that it has; None if it wants no changes.

    Versions without changes of jobs are not sent: the reader then has an earlier version than was seen here.
    """

    def __init__(
        self, callers: ConsoleCallers, call: ConsoleCall, frames: ConsoleFrames, response: web.StreamResponse,
        known: int | None,
    ) -> None:  # fmt: skip
        self._callers, self._call, self._frames, self._response = callers, call, frames, response
        self._seen, self._base = known, known or 0
        self._version, self._cycle = frames.current.version, call.state.latest_cycle
        self._readable: Any = None

    async def run(self) -> None:
        view = await self._call.view()
        self._readable = view.rights.key
        await self._send("hello", StreamHello(instance=self._frames.instance, version=self._version))
        await self._send_jobs(view.rights)
        while await self._is_current():
            try:
                async with asyncio.timeout(_HEARTBEAT_SECONDS):
                    await self._frames.newer(self._version)
            except TimeoutError:
                if self._call.state.latest_cycle == self._cycle:
                    await self._write(b": \n\n")
                    continue
            await self._send_frame(await self._call.view())

    async def _is_current(self) -> bool:
        """Report whether the session goes on, and the frames are still those of the server."""
        try:
            await self._callers.caller(self._call.request)
        except NotLoggedIn:
            return False
        except AccessUnavailable:
            return True  # nothing is sent before rights are reviewed again
        return self._call.state.frames is self._frames

    async def _send_frame(self, view: PersonView) -> None:
        changed = [name for name, version in view.frame.versions.items() if version > self._version]
        if self._call.state.latest_cycle != self._cycle:
            self._cycle = self._call.state.latest_cycle
            changed.append(_DECISIONS)
        self._version = view.frame.version
        event = StreamVersion(instance=view.instance, version=view.frame.version, resources=changed)
        await self._send("version", event)
        await self._send_jobs(view.rights)

    async def _send_jobs(self, rights: PersonRights) -> None:
        """Send the changes of the table of jobs since the last ones, of the frame of this moment."""
        if self._seen is None or self._call.state.frames is not self._frames:
            return
        view = self._call.state.view(rights)
        delta = self._frames.delta(self._seen) if rights.key == self._readable else None
        self._seen, base = view.frame.version, self._base
        if delta is None:
            self._readable, self._base = rights.key, view.frame.version
            await self._send("resync", StreamResync(instance=view.instance, version=view.frame.version))
        elif delta.changed or delta.removed:
            self._base = view.frame.version
            await self._send(JOBS, job_changes(view, base, delta))

    async def _send(self, name: str, document: msgspec.Struct) -> None:
        await self._write(b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(document) + b"\n\n")

    async def _write(self, content: bytes) -> None:
        async with asyncio.timeout(_SECONDS_TO_TAKE):
            await self._response.write(content)
