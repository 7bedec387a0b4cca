"""Writes statuses: the latest wish per object, a bounded number at a time, and never over something newer.

A wish says what an object should say; the patch is made from it when its turn comes, against the object as it is
known then. So ten wishes about one object are one write, and a wish that has come true meanwhile is none.

What is told gives way to what is done: while `yields` says so, only urgent wishes are written, and those that have
waited long enough.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stromboli.binding.draining import drained
from stromboli.binding.retry import RetryPolicy, is_retryable
from stromboli.cluster.ingest.ingest import Mirror
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client, PatchKind
from stromboli.kube.objects.resources import Resource
from stromboli.kube.work.workers import run_workers

#: Which object, and what about it.
Place = tuple[str, str, str]
#: How long a wish gives way to others, in seconds, and how often those who wait look again.
LONGEST_YIELD, LOOK_AGAIN = 5.0, 0.1
#: Makes the patch for an object as it is now; None when there is nothing to write.
MakePatch = Callable[[Any], dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be written about an object, on one topic. `done` is told when it is written, needless, or given up;
    `failed` when it was given up and ought to be wished again. An urgent wish is one that somebody waits for.
    """

    resource: Resource[Any]
    key: str
    make: MakePatch
    topic: str = "status"
    kind: PatchKind = PatchKind.MERGE
    subresource: str = ""
    done: Callable[[bool], None] = lambda written: None
    failed: Callable[[], object] = lambda: None
    urgent: bool = False


class StatusWriter:
    """Counts what it did: written, conflicts, failed. `problem` is told of writes that were given up."""

    def __init__(
        self,
        client: Client,
        mirror: Mirror,
        is_leader: Callable[[], bool],
        problem: Callable[[str, str], None],
        *,
        workers: int = 8,
        patience: RetryPolicy | None = None,
        yields: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._mirror = mirror
        self._is_leader = is_leader
        self._problem = problem
        self._workers = max(workers, 1)
        self._patience = patience or RetryPolicy(attempts=6, shortest=0.2, longest=15.0)
        self._yields = yields
        self._clock = clock
        #: With when the first wish about it was made that is not written yet.
        self._wishes: OrderedDict[Place, tuple[Wish, float]] = OrderedDict()
        #: The objects that are being written.
        self._under_way: set[tuple[str, str]] = set()
        self._work = asyncio.Event()
        self.written = 0
        self.conflicts = 0
        self.failed = 0

    @property
    def waiting(self) -> int:
        return len(self._wishes) + len(self._under_way)

    def want(self, wish: Wish) -> None:
        """Wish something; it takes the place of an earlier wish on the same topic."""
        place = wish.resource.name, wish.key, wish.topic
        earlier = self._wishes.get(place)
        self._wishes[place] = wish, earlier[1] if earlier else self._clock()
        self._work.set()

    def withdraw(self, resource: Resource[Any], key: str, topic: str = "status") -> None:
        """What was wished before is not wished any more, unless it is being written already."""
        withdrawn = self._wishes.pop((resource.name, key, topic), None)
        if withdrawn is not None:
            withdrawn[0].done(False)

    async def run(self) -> None:
        """Write until cancelled."""
        await run_workers(self._workers, self._worker)

    async def flush(self, timeout: float) -> int:
        """Wait until nothing is left to write, or time is up; answers how much is left."""
        return await drained(lambda: self.waiting, timeout)

    async def _worker(self) -> None:
        while True:
            place = self._next()
            if place is None:
                await self._wait_for_work()
                continue
            wish, _ = self._wishes.pop(place)
            self._under_way.add(place[:2])
            try:
                await self._write(wish)
            finally:
                self._under_way.discard(place[:2])
                self._work.set()

    async def _wait_for_work(self) -> None:
        self._work.clear()
        try:
            async with asyncio.timeout(LOOK_AGAIN if self._wishes else None):
                await self._work.wait()
        except TimeoutError:
            return

    def _next(self) -> Place | None:
        """The oldest wish whose turn it is, about an object that nobody is writing just now."""
        latest = self._clock() - LONGEST_YIELD if self._yields() else float("inf")
        for place, (wish, since) in self._wishes.items():
            if place[:2] not in self._under_way and (wish.urgent or since <= latest):
                return place
        return None

    async def _write(self, wish: Wish) -> None:
        attempt = 0
        while self._is_leader():
            try:
                wish.done(await self._attempt(wish))
            except RequestFailed as error:
                if isinstance(error, ApiError) and error.is_missing:
                    break
                if isinstance(error, ApiError) and error.is_conflict:
                    self.conflicts += 1
                    await self._read_again(wish)
                elif not is_retryable(error):
                    self._give_up(wish, error)
                    break
                if not await self._patience.wait(attempt, error):
                    self._give_up(wish, error)
                    break
                attempt += 1
            except Exception as error:
                self._give_up(wish, error)
                break
            else:
                return
        wish.done(False)

    async def _attempt(self, wish: Wish) -> bool:
        """One attempt; whether there was something to write."""
        entry = self._mirror.get(wish.resource.type, wish.key)
        patch = None if entry is None else wish.make(entry)
        if entry is None or patch is None:
            return False
        answer = await self._client.patch(
            wish.resource,
            entry.metadata.name,
            patch,
            namespace=entry.metadata.namespace,
            subresource=wish.subresource,
            kind=wish.kind,
        )
        self._mirror.apply(answer)
        self.written += 1
        return True

    async def _read_again(self, wish: Wish) -> None:
        """Somebody else wrote: what we know is old, so read the object before the next attempt."""
        entry = self._mirror.get(wish.resource.type, wish.key)
        if entry is not None:
            try:
                name, namespace = entry.metadata.name, entry.metadata.namespace
                self._mirror.apply(await self._client.get(wish.resource, name, namespace=namespace))
            except RequestFailed:
                return  # the next attempt finds out

    def _give_up(self, wish: Wish, error: Exception) -> None:
        self.failed += 1
        wish.failed()
        self._problem(f"{wish.resource.kind} {wish.key}", f"status could not be written: {error}")
