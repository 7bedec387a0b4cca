"""Writes what happened as events on the objects it happened to, in the background.

Recording returns at once, and its cost is bounded: what repeats becomes a count on one event, events about one object
are limited in rate, and when too many wait to be written the oldest is dropped and counted. While `yields` returns
True, only events that have waited long enough are written.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TypeVar

from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.client.rate_limit import TokenBucket
from stromboli.kube.events.series import Identity, Series, shortened, subject
from stromboli.kube.objects.catalogue import EVENTS
from stromboli.kube.objects.event import ObjectReference
from stromboli.kube.work.retry import RetryPolicy, is_retryable
from stromboli.kube.work.work_queue import WorkQueue

REPEAT_SECONDS = 10.0
"""A series is written at most this often."""
SERIES_SECONDS = 360.0
"""An event that repeats after this many seconds starts a new series."""
MAX_PENDING = 10_000
MAX_SERIES = 4096
BURST_PER_OBJECT, RATE_PER_OBJECT = 25, 1 / 60
WRITERS = 4
MIN_YIELD, MAX_YIELD = 5.0, 30.0
"""How long an event yields to binds, in seconds: until it is written beside them, and until it yields no longer."""
RATE, BURST = 50.0, 200
"""Events per second, and at once: events must not delay binds."""
RETRY = RetryPolicy(attempts=3, min_delay=0.8, max_delay=30.0)

K = TypeVar("K")
V = TypeVar("V")


class EventRecorder:
    """Records events of a `controller`; `instance` distinguishes several processes of it."""

    def __init__(
        self,
        client: Client,
        controller: str,
        *,
        instance: str = "",
        repeat_seconds: float = REPEAT_SECONDS,
        max_pending: int = MAX_PENDING,
        rate: float = RATE,
        retry: RetryPolicy = RETRY,
        yields: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        #: Events that are not written: too many at once, too many about one object, or rejected by the server.
        self.dropped = 0
        self.written = 0
        self._client = client
        self._controller = controller
        self._instance = instance or socket.gethostname()
        self._repeat_seconds = repeat_seconds
        self._max_pending = max_pending
        self._retry = retry
        self._yields = yields
        self._clock = clock
        self._rate = TokenBucket(rate, BURST, clock)
        self._series: OrderedDict[Identity, Series] = OrderedDict()
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()
        self._queue: WorkQueue[Series] = WorkQueue(self._write, name="events", workers=WRITERS, select=self._select)
        self._is_flushing = False
        #: Events that are being written.
        self._writing = 0
        self._stamp = 0

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
        """Record an event; returns at once."""
        note = shortened(note)
        identity = (subject(regarding), type, reason, note, action)
        now = self._clock()
        series = self._series.get(identity)
        if series is not None and now - series.observed_at < SERIES_SECONDS:
            series.again(now)
            self._series.move_to_end(identity)
            if not self._queue.is_busy(series):
                self._queue.add_after(series, series.written_at + self._repeat_seconds - now)
        elif self._is_allowed(identity[0]):
            series = Series(regarding, type, reason, note, action, related, observed_at=now)
            _remember(self._series, identity, series)
            self._forget_old(now)
            self._queue.add(series)
            if self._queue.waiting > self._max_pending:
                self._queue.discard_oldest()
                self.dropped += 1
        else:
            self.dropped += 1

    async def run(self) -> None:
        """Write events until cancelled."""
        await self._queue.run()

    async def flush(self, timeout: float) -> bool:
        """Write everything that waits, also what is delayed; report whether all of it was written in time."""
        dropped, self._is_flushing = self.dropped, True
        try:
            async with asyncio.timeout(timeout):
                await self._queue.flush()
        except TimeoutError:
            return False
        finally:
            self._is_flushing = False
        return self.dropped == dropped

    def _select(self, waiting: Iterable[Series]) -> Series | None:
        oldest = next(iter(waiting))
        yields_for = MAX_YIELD if self._writing else MIN_YIELD
        return None if self._yields() and self._clock() - oldest.observed_at < yields_for else oldest

    async def _write(self, series: Series) -> float | None:
        """Write a series; return when to write it again, if at all."""
        self._writing += 1
        try:
            if not self._is_flushing:
                await self._rate.wait()
            count = series.count
            await self._create_or_update(series)
        except RequestFailed as error:
            return self._failed(series, error)
        finally:
            self._writing -= 1
        series.written, series.written_at, series.attempts = count, self._clock(), 0
        self.written += 1
        return self._repeat_seconds if series.count > count else None

    async def _create_or_update(self, series: Series) -> None:
        if not series.name:
            self._stamp = max(self._stamp + 1, time.time_ns())
            series.set_name(self._stamp)
        if series.written and await self._update(series):
            return
        try:
            await self._client.create(EVENTS, series.body(self._controller, self._instance))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            await self._update(series)

    async def _update(self, series: Series) -> bool:
        """Return False if the event does not exist, because it expired or was never created."""
        try:
            await self._client.patch(EVENTS, series.name, series.progress(), namespace=series.namespace)
        except ApiError as error:
            if not error.is_missing:
                raise
            return False
        return True

    def _failed(self, series: Series, error: RequestFailed) -> float | None:
        """Return the delay before the next attempt, or None when the event is dropped."""
        series.attempts += 1
        if is_retryable(error) and series.attempts < self._retry.attempts:
            return self._retry.delay(series.attempts, error)
        self.dropped += 1
        series.attempts, series.written_at = 0, self._clock()
        return None

    def _forget_old(self, now: float) -> None:
        """Forget series that are over, and the limits of objects without recent events."""
        while now - next(iter(self._series.values())).observed_at >= SERIES_SECONDS:
            self._series.popitem(last=False)
        while now - next(iter(self._buckets.values())).filled_at >= SERIES_SECONDS:
            self._buckets.popitem(last=False)

    def _is_allowed(self, subject_key: str) -> bool:
        bucket = self._buckets.get(subject_key)
        if bucket is None:
            bucket = TokenBucket(RATE_PER_OBJECT, BURST_PER_OBJECT, self._clock)
        _remember(self._buckets, subject_key, bucket)
        return bucket.try_take()


def _remember(kept: OrderedDict[K, V], key: K, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > MAX_SERIES:
        kept.popitem(last=False)
