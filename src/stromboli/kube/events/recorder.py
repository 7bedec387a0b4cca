"""Tells people what happened, as events on the objects it happened to.

Telling must never hold up what is told: recording only takes note, and somebody else does the writing. So there are
limits, each with a stated behaviour: what repeats becomes a count on one event, an object that never rests is heard
less often, and when too much waits to be written the oldest is forgotten, and counted. While `yields` says that there
is something better to do, nothing is written that is not already late.
"""

from __future__ import annotations

import asyncio
import heapq
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.backoff import Backoff
from stromboli.kube.client.client import Client
from stromboli.kube.client.rate_limit import TokenBucket
from stromboli.kube.events.series import Identity, Series, shortened, subject
from stromboli.kube.objects.catalogue import EVENTS
from stromboli.kube.objects.event import ObjectReference

REPEAT_SECONDS = 10.0
"""A series is written at most this often."""
SERIES_SECONDS = 360.0
"""What happens again after so long a silence is told as something new."""
MAX_WAITING = 10_000
MAX_SERIES = 10_000
MAX_ATTEMPTS = 3
BURST_PER_OBJECT, RATE_PER_OBJECT = 25, 1 / 60
WRITERS = 4
LONGEST_YIELD, LOOK_AGAIN = 5.0, 0.1
"""How long an event gives way to others, and how often its turn is asked for, in seconds."""
RATE, BURST = 50.0, 200
"""Events per second, and at once: what is told must not take the place of what is done."""


K = TypeVar("K")
V = TypeVar("V")


class EventRecorder:
    """Writes events in the background. `controller` is who says so, `instance` which of several processes."""

    def __init__(
        self,
        client: Client,
        controller: str,
        *,
        instance: str = "",
        repeat_seconds: float = REPEAT_SECONDS,
        max_pending: int = MAX_WAITING,
        rate: float = RATE,
        yields: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        #: Events that nobody will hear of: too many at once, too many about one object, or refused by the server.
        self.dropped = 0
        self.written = 0
        self._client = client
        self._controller = controller
        self._instance = instance or socket.gethostname()
        self._repeat_seconds = repeat_seconds
        self._max_pending = max_pending
        self._yields = yields
        self._clock = clock
        self._backoff = Backoff()
        self._pace = TokenBucket(rate, BURST, clock)
        self._series: OrderedDict[Identity, Series] = OrderedDict()
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()
        self._waiting: OrderedDict[int, Series] = OrderedDict()
        self._later: list[tuple[float, int, Series]] = []
        self._writing = 0
        self._stamp = 0
        self._news = asyncio.Event()
        self._quiet = asyncio.Event()

    def record(
        self,
        regarding: ObjectReference,
        *,
        type: str,  # noqa: A002 - the field's name
        reason: str,
        note: str,
        action: str = "",
        related: ObjectReference | None = None,
    ) -> None:
        """Takes note, and returns at once."""
        note = shortened(note)
        identity = (subject(regarding), type, reason, note, action)
        now = self._clock()
        series = self._series.get(identity)
        if series is not None and now - series.observed_at < SERIES_SECONDS:
            series.again(now)
            self._series.move_to_end(identity)
            self._write_later(series, series.written_at + self._repeat_seconds)
        elif self._is_allowed(identity[0]):
            series = Series(regarding, type, reason, note, action, related, observed_at=now)
            _remember(self._series, identity, series)
            self._write_soon(series)
        else:
            self.dropped += 1

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as writers:
            for _ in range(WRITERS):
                writers.create_task(self._run_writer())

    async def flush(self, timeout: float) -> bool:
        """Writes what waits, also what would wait longer; whether all of it could be written in time."""
        dropped = self.dropped
        try:
            async with asyncio.timeout(timeout):
                while self._waiting or self._later or self._writing:
                    await self._write_or_wait()
        except TimeoutError:
            return False
        return self.dropped == dropped

    async def _write_or_wait(self) -> None:
        self._collect(float("inf"))
        if self._waiting:
            await self._write_next()
        else:
            self._quiet.clear()
            await self._quiet.wait()

    async def _run_writer(self) -> None:
        while True:
            self._collect(self._clock())
            if not self._waiting:
                await self._await_news()
                continue
            if self._yields_now():
                await asyncio.sleep(LOOK_AGAIN)
                continue
            await self._pace.wait()
            if self._waiting:  # another writer may have been faster
                await self._write_next()

    def _yields_now(self) -> bool:
        oldest = next(iter(self._waiting.values()))
        return self._yields() and self._clock() - oldest.observed_at < LONGEST_YIELD

    async def _await_news(self) -> None:
        self._news.clear()
        due = self._later[0][0] - self._clock() if self._later else None
        try:
            async with asyncio.timeout(due):
                await self._news.wait()
        except TimeoutError:
            return

    async def _write_next(self) -> None:
        """While it is being written a series counts as waiting, so that nobody else writes it too."""
        _, series = self._waiting.popitem(last=False)
        count = series.count
        self._writing += 1
        try:
            await self._write(series)
        except asyncio.CancelledError:
            self._write_soon(series)
            raise
        except RequestFailed as error:
            series.waits = False
            self._failed(series, error)
        else:
            series.waits = False
            self._succeeded(series, count)
        finally:
            self._writing -= 1
            self._quiet.set()

    async def _write(self, series: Series) -> None:
        if not series.name:
            self._stamp = max(self._stamp + 1, time.time_ns())
            series.set_name(self._stamp)
        if series.told and await self._update(series):
            return
        try:
            await self._client.create(EVENTS, series.body(self._controller, self._instance))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            await self._update(series)

    async def _update(self, series: Series) -> bool:
        """False if the event is not there, because it expired or never was."""
        try:
            await self._client.patch(EVENTS, series.name, series.progress(), namespace=series.namespace)
        except ApiError as error:
            if not error.is_missing:
                raise
            return False
        return True

    def _succeeded(self, series: Series, count: int) -> None:
        series.told, series.written_at, series.attempts = count, self._clock(), 0
        self.written += 1
        self._backoff.reset()
        if series.count > count:
            self._write_later(series, series.written_at + self._repeat_seconds)

    def _failed(self, series: Series, error: RequestFailed) -> None:
        """Tried a few times, if it may go better; an event is not worth more."""
        series.attempts += 1
        hopeless = isinstance(error, ApiError) and not error.is_throttled and not error.outcome_unknown
        if hopeless or series.attempts >= MAX_ATTEMPTS:
            self.dropped += 1
            series.attempts, series.written_at = 0, self._clock()
            return
        asked = error.retry_after if isinstance(error, ApiError) else None
        self._write_later(series, self._clock() + self._backoff.next(asked))

    def _write_soon(self, series: Series) -> None:
        series.waits = True
        self._waiting[id(series)] = series
        if len(self._waiting) > self._max_pending:
            _, oldest = self._waiting.popitem(last=False)
            oldest.waits = False
            self.dropped += 1
        self._news.set()

    def _write_later(self, series: Series, due: float) -> None:
        if not series.waits:
            series.waits = True
            self._stamp += 1
            heapq.heappush(self._later, (due, self._stamp, series))
            self._news.set()

    def _collect(self, now: float) -> None:
        """What was put off until now is due."""
        while self._later and self._later[0][0] <= now:
            self._write_soon(heapq.heappop(self._later)[2])

    def _is_allowed(self, who: str) -> bool:
        bucket = self._buckets.get(who)
        if bucket is None:
            bucket = TokenBucket(RATE_PER_OBJECT, BURST_PER_OBJECT, self._clock)
            _remember(self._buckets, who, bucket)
        return bucket.try_take()


def _remember(kept: OrderedDict[K, V], key: K, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > MAX_SERIES:
        kept.popitem(last=False)
