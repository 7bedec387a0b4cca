"""The work queue: keys to process, each by one worker at a time, with retries.

A key that changes while it is processed is processed once more afterwards, so that the last run always sees the last
state; a key that is added a hundred times while it waits is processed once. A failed key is retried indefinitely, with
the delays of a RetryPolicy, unless the handler catches the error.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.work.fair_keys import FairKeys
from stromboli.kube.work.retry import RetryPolicy

K = TypeVar("K", bound=Hashable)

RETRY = RetryPolicy(min_delay=0.05, max_delay=30.0, factor=2.0, jitter=False)
"""The default: delays double up to half a minute."""
POLL_SECONDS = 0.1
"""The interval at which a `select` that returned no key is called again."""
_DRAIN_POLL_SECONDS = 0.02

_log = logging.getLogger(__name__)


class WorkQueue(Generic[K]):
    """`handle` is awaited with one key per worker; it may return after how many seconds to process the key again.

    `select` chooses the next key among those that wait, in order of arrival; None postpones all of them for a moment.
    `group` returns the group of a key that waits, such as its namespace; groups take turns.
    """

    def __init__(
        self,
        handle: Callable[[K], Awaitable[float | None]],
        *,
        name: str,
        workers: int = 8,
        retry: RetryPolicy = RETRY,
        select: Callable[[Collection[K]], K | None] | None = None,
        group: Callable[[K], Hashable] | None = None,
    ) -> None:
        self._handle = handle
        self._name = name
        self._workers = max(workers, 1)
        self._retry = retry
        self._select = select
        self._waiting: FairKeys[K] = FairKeys(group)
        self._busy: set[K] = set()
        self._changed: set[K] = set()
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}
        self._idle_workers: deque[asyncio.Future[None]] = deque()
        #: Runs that succeeded, and runs that are repeated because a request failed or because of an internal error.
        self.done = 0
        self.failed = 0
        #: Called after each run with its seconds, and whether it succeeded.
        self.on_attempt: Callable[[float, bool], None] | None = None

    # -- keys ---------------------------------------------------------------------------------------------------

    def add(self, key: K) -> None:
        """Process a key as soon as a worker is free."""
        self._cancel_timer(key)
        if key in self._busy:
            self._changed.add(key)
        elif self._waiting.add(key):
            self._wake_one()

    def add_after(self, key: K, seconds: float) -> None:
        """Process a key after a delay, or earlier if it is already due earlier."""
        if key in self._waiting or key in self._changed:
            return
        if seconds <= 0:
            self.add(key)
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + seconds
        if (timer := self._timers.get(key)) is not None:
            if timer.when() <= when:
                return
            timer.cancel()
        self._timers[key] = loop.call_at(when, self.add, key)

    def forget(self, key: K) -> None:
        """Drop the failures and the delayed run of a key; what is due or running stays."""
        self._cancel_timer(key)
        self._failures.pop(key, None)

    def discard(self, key: K) -> None:
        """Drop a key that waits; a run that has started continues."""
        self.forget(key)
        self._waiting.discard(key)

    def discard_oldest(self) -> K:
        """Drop the key that has waited longest and return it."""
        key = next(iter(self._waiting))
        self.discard(key)
        return key

    @property
    def waiting(self) -> int:
        """The number of keys that are due and not being processed."""
        return len(self._waiting)

    @property
    def retrying(self) -> int:
        """The number of keys whose last run failed."""
        return len(self._failures)

    @property
    def pending(self) -> int:
        """The number of keys that are due, being processed or delayed."""
        return len(self._waiting) + len(self._timers) + sum(key not in self._timers for key in self._busy)

    @property
    def is_idle(self) -> bool:
        """Report whether no key is due or being processed; delayed keys do not count."""
        return not self._waiting and not self._busy

    def is_busy(self, key: K) -> bool:
        return key in self._busy

    def is_delayed(self, key: K) -> bool:
        return key in self._timers

    def _cancel_timer(self, key: K) -> None:
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()

    # -- work ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Process keys until cancelled."""
        try:
            await run_workers(self._workers, self._work)
        finally:
            for timer in self._timers.values():
                timer.cancel()

    async def flush(self) -> None:
        """Process everything that is pending now, delayed keys first made due, beside the workers if these run."""
        while self.pending:
            for key in [*self._timers]:
                self.add(key)
            if self._waiting:
                await self._process(next(iter(self._waiting)))
            else:
                await asyncio.sleep(_DRAIN_POLL_SECONDS)

    async def drain(self, timeout: float) -> int:
        """Wait until nothing is pending, or until the timeout; return how many keys are."""
        return await drained(lambda: self.pending, timeout)

    async def _work(self) -> None:
        while True:
            key: K | None = None
            if self._waiting:
                key = next(iter(self._waiting)) if self._select is None else self._select(self._waiting)
            if key is None:
                await self._wait_for_work()
            else:
                await self._process(key)

    async def _wait_for_work(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._idle_workers.append(turn)
        try:
            async with asyncio.timeout(POLL_SECONDS if self._waiting else None):
                await turn
        except TimeoutError:
            return

    def _wake_one(self) -> None:
        while self._idle_workers:
            turn = self._idle_workers.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    async def _process(self, key: K) -> None:
        self._waiting.take(key)
        self._busy.add(key)
        again: float | None = 0.0  # a run that is cancelled is repeated by the next worker
        try:
            again = await self._attempt(key)
        finally:
            self._busy.discard(key)
            if key in self._changed:
                self._changed.discard(key)
                again = 0.0
            if again is not None:
                self.add_after(key, again)

    async def _attempt(self, key: K) -> float | None:
        """Process a key and return when to process it again: a failure does not end the worker."""
        if self.on_attempt is None:
            return await self._run_once(key)
        began = time.perf_counter()
        again = await self._run_once(key)
        self.on_attempt(time.perf_counter() - began, key not in self._failures)
        return again

    async def _run_once(self, key: K) -> float | None:
        try:
            again = await self._handle(key)
        except RequestFailed as error:
            failure: Exception = error
            self._log_failure(key, error)
        except Exception as error:
            failure = error
            _log.exception("internal error; retrying", extra={"queue": self._name, "key": key})
        else:
            self.done += 1
            self._failures.pop(key, None)
            return again
        self.failed += 1
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        return self._retry.delay(failures - 1, failure)

    def _log_failure(self, key: K, error: RequestFailed) -> None:
        """Log once, as a warning, what needs intervention: what is forbidden or invalid. Other failures pass."""
        persists = isinstance(error, ApiError) and (error.is_denied or error.is_invalid) and key not in self._failures
        level = logging.WARNING if persists else logging.DEBUG
        _log.log(level, "request failed; retrying", extra={"queue": self._name, "key": key, "error": str(error)})


def namespace_of(key: str) -> str:
    """Return the namespace of a key, as the group whose keys take turns."""
    return key.partition("/")[0]


async def run_workers(count: int, worker: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `count` workers until cancelled; when one fails, all end."""
    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(worker())


async def drained(left: Callable[[], int], timeout: float) -> int:
    """Wait until nothing is left, or until the timeout; return how much is left."""
    deadline = time.monotonic() + timeout
    while left() and time.monotonic() < deadline:
        await asyncio.sleep(_DRAIN_POLL_SECONDS)
    return left()
