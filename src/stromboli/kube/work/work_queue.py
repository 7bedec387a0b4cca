"""Keys that somebody has to look at: each by one worker at a time, and after a failure later and later.

A key that changes while it is being looked at is looked at once more afterwards, so that the last look always sees
the last state; a key that changes a hundred times while it waits is looked at once. Nothing is ever given up: the
pause after a failure doubles up to a limit and stays there until a look succeeds.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.work.workers import run_workers

K = TypeVar("K")

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 30.0

_log = logging.getLogger(__name__)


class WorkQueue(Generic[K]):
    """`look` is awaited with one key at a time per worker; it may answer after how many seconds to look again."""

    def __init__(
        self,
        look: Callable[[K], Awaitable[float | None]],
        *,
        name: str,
        workers: int = 8,
        first_pause: float = FIRST_PAUSE,
        longest_pause: float = LONGEST_PAUSE,
    ) -> None:
        self._look = look
        self._name = name
        self._workers = workers
        self._first_pause, self._longest_pause = first_pause, longest_pause
        self._waiting: deque[K] = deque()
        self._waits: set[K] = set()
        self._busy: set[K] = set()
        self._changed: set[K] = set()
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}
        self._idle_workers: deque[asyncio.Future[None]] = deque()
        #: Looks that succeeded, and looks that have to be repeated because a request failed or because of a mistake.
        self.done = 0
        self.failed = 0

    def add(self, key: K) -> None:
        """Look at a key as soon as a worker is free."""
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        if key in self._busy:
            self._changed.add(key)
        elif key not in self._waits:
            self._waits.add(key)
            self._waiting.append(key)
            self._wake_one()

    def add_after(self, key: K, seconds: float) -> None:
        """Look at a key when the time has come, or earlier if it was already to be looked at earlier."""
        loop = asyncio.get_running_loop()
        when = loop.time() + seconds
        if key in self._waits or key in self._changed:
            return
        if (timer := self._timers.get(key)) is not None:
            if timer.when() <= when:
                return
            timer.cancel()
        self._timers[key] = loop.call_at(when, self.add, key)

    def forget(self, key: K) -> None:
        """Nothing is left to look at; what is under way finishes."""
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        self._failures.pop(key, None)

    @property
    def is_idle(self) -> bool:
        """Nobody waits and nobody is being looked at; what has a time of its own does not count."""
        return not self._waits and not self._busy

    async def run(self) -> None:
        """Until cancelled."""
        try:
            await run_workers(self._workers, self._work)
        finally:
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()

    async def _work(self) -> None:
        while True:
            key = await self._next()
            try:
                again = await self._attempt(key)
            finally:
                self._busy.discard(key)
            if key in self._changed:
                self._changed.discard(key)
                self.add(key)
            elif again is not None:
                self.add_after(key, again)

    async def _attempt(self, key: K) -> float | None:
        """Looks, and answers when to look again: a key in trouble must not take its worker along."""
        try:
            again = await self._look(key)
        except RequestFailed as error:
            self._tell(key, error)
        except Exception:
            _log.exception("%s: %s: a mistake of ours", self._name, key)
        else:
            self.done += 1
            self._failures.pop(key, None)
            return again
        self.failed += 1
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        return min(self._first_pause * 2.0 ** min(failures - 1, 30), self._longest_pause)

    def _tell(self, key: K, error: RequestFailed) -> None:
        """Most failures pass. What is not allowed, or makes no sense to the server, waits for a person: said once."""
        stays = isinstance(error, ApiError) and (error.is_denied or error.is_invalid) and key not in self._failures
        _log.log(logging.WARNING if stays else logging.DEBUG, "%s: %s: %s", self._name, key, error)

    async def _next(self) -> K:
        while not self._waiting:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle_workers.append(turn)
            await turn
        key = self._waiting.popleft()
        self._waits.discard(key)
        self._busy.add(key)
        return key

    def _wake_one(self) -> None:
        while self._idle_workers:
            turn = self._idle_workers.popleft()
            if not turn.done():
                turn.set_result(None)
                return
