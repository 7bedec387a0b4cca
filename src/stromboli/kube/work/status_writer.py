"""Writes statuses: the latest desired status per object and topic, a bounded number at a time, never over newer data.

A DesiredStatus makes its patch when its turn comes, against the object as it is known then. So ten updates of one
object are one write, and a status that the object already has is not written.

Status writes yield to binds: while `yields` returns True, only urgent statuses are written, and those that have waited
long enough, one at a time. Many of them are withdrawn or replaced meanwhile.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol

from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client, PatchKind
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.kube.work.retry import RetryPolicy, is_retryable
from stromboli.kube.work.work_queue import WorkQueue

#: The plural name of the resource, and the key of the object.
Target = tuple[str, str]
#: How long a status yields to binds, in seconds: until it is written beside them, and until it does not yield at all.
MIN_YIELD, MAX_YIELD = 5.0, 30.0
#: Makes the patch for an object as it is now; None when there is nothing to write.
MakePatch = Callable[[Any], dict[str, Any] | None]

_log = logging.getLogger("stromboli.status")

RETRY = RetryPolicy(attempts=6, min_delay=0.2, max_delay=15.0)


class ObjectStore(Protocol):
    """Objects as last seen; the answers to writes are added."""

    def get(self, kind: type[Any], key: str) -> TopLevel | None: ...

    def apply(self, entry: Any) -> object: ...


@dataclass(frozen=True, slots=True)
class DesiredStatus:
    """The desired status of an object, on one topic.

    `done` is called when it is written, unnecessary, or given up; `failed` when it was given up and should be desired
    again. An urgent status does not yield to binds.
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
    """Counts written statuses, conflicts and failures."""

    def __init__(
        self,
        client: Client,
        store: ObjectStore,
        is_leader: Callable[[], bool],
        *,
        workers: int = 8,
        retry: RetryPolicy = RETRY,
        yields: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._store = store
        self._is_leader = is_leader
        self._retry = retry
        self._yields = yields
        self._clock = clock
        #: By object and topic, with the time of the first update that is not written yet.
        self._desired: dict[Target, dict[str, tuple[DesiredStatus, float]]] = {}
        #: Objects with an urgent status.
        self._urgent: dict[Target, None] = {}
        self._attempts: Counter[Target] = Counter()
        self._queue: WorkQueue[Target] = WorkQueue(self._write, name="status", workers=workers, select=self._select)
        #: Objects that are being written.
        self._writing = 0
        self.written = 0
        self.conflicts = 0
        self.failed = 0

    @property
    def waiting(self) -> int:
        """The number of objects with unwritten statuses."""
        return self._queue.pending

    def want(self, desired: DesiredStatus) -> None:
        """Write a status; it replaces an unwritten one on the same topic."""
        target = desired.resource.name, desired.key
        topics = self._desired.setdefault(target, {})
        earlier = topics.get(desired.topic)
        topics[desired.topic] = desired, earlier[1] if earlier else self._clock()
        if desired.urgent:
            self._urgent[target] = None
        if not self._queue.is_delayed(target) and not self._queue.is_busy(target):
            self._queue.add(target)

    def withdraw(self, resource: Resource[Any], key: str, topic: str = "status") -> None:
        """Drop an unwritten status, unless it is being written."""
        target = resource.name, key
        withdrawn = self._desired.get(target, {}).pop(topic, None)
        if withdrawn is not None:
            if not self._desired[target] and not self._queue.is_busy(target):
                self._forget(target)
            withdrawn[0].done(False)

    def has_begun(self, resource: Resource[Any], key: str) -> bool:
        """Report whether a status of the object is being written, or was tried: the object may have it or get it."""
        target = resource.name, key
        return self._queue.is_busy(target) or self._attempts[target] > 0

    async def run(self) -> None:
        """Write until cancelled."""
        await self._queue.run()

    async def flush(self, timeout: float) -> int:
        """Wait until nothing is left to write, or until the timeout; return how many objects are left."""
        return await self._queue.drain(timeout)

    def _forget(self, target: Target) -> None:
        self._desired.pop(target, None)
        self._urgent.pop(target, None)
        self._attempts.pop(target, None)
        self._queue.discard(target)

    def _select(self, waiting: Collection[Target]) -> Target | None:
        """Thousands may wait, in the order of their age, while eight workers ask ten times a second: no search."""
        oldest = next(iter(waiting))
        if not self._yields():
            return oldest
        urgent = next((target for target in self._urgent if target in waiting), None)
        if urgent is not None:
            return urgent
        waited = self._clock() - min(since for _, since in self._desired[oldest].values())
        return oldest if waited >= (MAX_YIELD if self._writing else MIN_YIELD) else None

    async def _write(self, target: Target) -> float | None:
        """Write the oldest topic of an object; return when to continue, or None if nothing is left."""
        topics = self._desired[target]
        topic = next(iter(topics))
        desired, since = topics.pop(topic)
        self._writing += 1
        try:
            delay = await self._attempt(target, desired)
        finally:
            self._writing -= 1
        topics = self._desired.setdefault(target, {})
        if delay is not None:
            topics.setdefault(topic, (desired, since))
        if topics:
            return delay or 0.0
        del self._desired[target]
        self._urgent.pop(target, None)
        return None

    async def _attempt(self, target: Target, desired: DesiredStatus) -> float | None:
        """Write one status; return the delay before the next attempt, or None when there is none."""
        try:
            desired.done(self._is_leader() and await self._patch(desired))
        except RequestFailed as error:
            if (delay := await self._retry_delay(target, desired, error)) is not None:
                return delay
        except Exception as error:
            self._give_up(desired, error)
        self._attempts.pop(target, None)
        return None

    async def _patch(self, desired: DesiredStatus) -> bool:
        """Patch the object; return whether there was something to write."""
        entry = self._store.get(desired.resource.type, desired.key)
        patch = None if entry is None else desired.make(entry)
        if entry is None or patch is None:
            return False
        answer = await self._client.patch(
            desired.resource,
            entry.metadata.name,
            patch,
            namespace=entry.metadata.namespace,
            subresource=desired.subresource,
            kind=desired.kind,
        )
        self._store.apply(answer)
        self.written += 1
        return True

    async def _retry_delay(self, target: Target, desired: DesiredStatus, error: RequestFailed) -> float | None:
        """Return the delay before the next attempt, or None when the status is given up or its object is gone."""
        if isinstance(error, ApiError) and error.is_missing:
            desired.done(False)
            return None
        is_conflict = isinstance(error, ApiError) and error.is_conflict
        self.conflicts += is_conflict
        attempt = self._attempts[target]
        if not (is_conflict or is_retryable(error)) or attempt + 1 >= self._retry.attempts:
            self._give_up(desired, error)
            return None
        self._attempts[target] += 1
        if is_conflict or not isinstance(error, ApiError):
            await self._refresh(desired)
        return self._retry.delay(attempt, error)

    async def _refresh(self, desired: DesiredStatus) -> None:
        """Read an object that another client has changed, or a request without an answer; an error here shows in the
        next attempt.
        """
        entry = self._store.get(desired.resource.type, desired.key)
        if entry is not None:
            with contextlib.suppress(RequestFailed):
                name, namespace = entry.metadata.name, entry.metadata.namespace
                self._store.apply(await self._client.get(desired.resource, name, namespace=namespace))

    def _give_up(self, desired: DesiredStatus, error: Exception) -> None:
        self.failed += 1
        desired.failed()
        facts = {"kind": desired.resource.kind, "key": desired.key, "topic": desired.topic, "error": str(error)}
        _log.warning("status not written", extra=facts)
        desired.done(False)
