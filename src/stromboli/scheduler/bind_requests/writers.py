"""Bounded workers that write commits as bind requests, which the binder executes.

They take the place of the workers that bind pods directly, and check a commit as a whole like them. Once its request
exists, the request holds the capacity, and its status reports the result. Writes are idempotent: an existing request
with the same content counts as written.
"""

from __future__ import annotations

import asyncio
import enum
from collections import deque
from collections.abc import Callable, Sequence

from stromboli.binding.concurrency import ConcurrencyLimiter
from stromboli.binding.direct.workers import BindObserver
from stromboli.binding.gangs import failing_members
from stromboli.binding.orders import Commit, Outcome, Result
from stromboli.cluster.ingest.ingest import Ingest
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.catalogue import BIND_REQUESTS
from stromboli.kube.work.retry import RetryPolicy, is_retryable
from stromboli.kube.work.work_queue import drained, run_workers
from stromboli.scheduler.bind_requests.builder import BindRequestBuilder

#: The number of names to try for one request if other requests have them.
MAX_NAMES = 100
_RETRY = RetryPolicy(min_delay=0.1, max_delay=5.0)


class _Attempt(enum.Enum):
    WRITTEN = "written"
    #: Another request has the name.
    TAKEN = "taken"
    #: Not written: this process does not lead any more, or is stopping.
    DROPPED = "dropped"


class BindRequestWriters:
    """Writes `workers` requests at a time. `orphaned` is called with written parts of decisions that were given up."""

    #: The binder prepares members, not these workers.
    preparing = 0

    def __init__(
        self,
        client: Client,
        ingest: Ingest,
        observer: BindObserver,
        builder: BindRequestBuilder,
        *,
        workers: int = 32,
        written: Callable[[int], None] = lambda requests: None,
        orphaned: Callable[[BindRequest], None] = lambda request: None,
    ) -> None:
        self._client = client
        self._ingest = ingest
        self._observer = observer
        self._builder = builder
        self._workers = max(workers, 1)
        self._written = written
        self._orphaned = orphaned
        self.limiter = ConcurrencyLimiter(self._workers)
        self._queue: deque[Commit] = deque()
        self._work = asyncio.Event()
        self._stopping = False
        self._unsettled = 0

    @property
    def waiting(self) -> int:
        """Members whose request is not known to exist."""
        return self._unsettled

    def submit(self, commit: Commit) -> None:
        self._unsettled += len(commit.members)
        self._queue.append(commit)
        self._work.set()

    async def run(self) -> None:
        """Work until cancelled."""
        await run_workers(self._workers, self._worker)

    async def drain(self, timeout: float) -> int:
        """Finish started writes and drop the rest. Returns how many members are unsettled at the timeout."""
        self._stopping = True
        self._work.set()
        return await drained(lambda: self._unsettled, timeout)

    async def _worker(self) -> None:
        while True:
            while not self._queue:
                self._work.clear()
                await self._work.wait()
            commit = self._queue.popleft()
            try:
                await self._process(commit)
            finally:
                self._unsettled -= len(commit.members)

    async def _process(self, commit: Commit) -> None:
        results: dict[str, Result] = {}
        if self._stopping or not self._observer.is_leader():
            results = dict.fromkeys((each.uid for each in commit.members), _DROPPED)
        else:
            results = self._failing(commit)
            if members := [each for each in commit.members if each.uid not in results]:
                results |= await self._write_requests(commit, members)
        for placement in commit.members:
            if placement.uid in results:
                self._observer.settled(commit, placement, results[placement.uid])
        if len(results) == len(commit.members):
            self._observer.finished(commit, results)

    def _failing(self, commit: Commit) -> dict[str, Result]:
        """Return the members that cannot be bound any more; all of them, when too few are left for the gang."""
        errors = {each.uid: self._observer.precondition_error(each) for each in commit.members}
        problems = {uid: error for uid, error in errors.items() if error}
        failing = failing_members([each.uid for each in commit.members], problems, commit.needed)
        return {uid: Result(Outcome.IMPOSSIBLE, problem) for uid, problem in failing.items()}

    async def _write_requests(self, commit: Commit, members: Sequence[Placement]) -> dict[str, Result]:
        """Write all parts. Returns the failed members; empty on success, as the requests then hold the capacity."""
        written: list[BindRequest] = []
        problem = _DROPPED
        try:
            for request in self._builder.requests_of(commit, members):
                found = await self._write(request)
                if found is None:
                    break
                written.append(found)
            else:
                self._transfer(members, written)
                return {}
        except RequestFailed as error:
            problem = Result(Outcome.IMPOSSIBLE, _message_for(error))
        except Exception as error:
            problem = Result(Outcome.IMPOSSIBLE, f"{type(error).__name__}: {error}")
        for request in written:
            self._orphaned(request)
        return dict.fromkeys((each.uid for each in members), problem)

    def _transfer(self, members: Sequence[Placement], requests: Sequence[BindRequest]) -> None:
        for placement in members:
            self._ingest.cluster.assumptions.forget(placement.uid)
        self._written(len(requests))

    async def _write(self, request: BindRequest) -> BindRequest | None:
        """Return the request as it exists; None when this process may not write any more. Raises RequestFailed."""
        for _ in range(MAX_NAMES):
            attempt, found = await self._attempt(request)
            if attempt is _Attempt.DROPPED:
                return None
            if found is not None:
                self._ingest.apply(found)
                return found
            request = self._builder.renamed(request)
        raise ApiError(
            409, "AlreadyExists", f"BindRequest {request.key}: {MAX_NAMES} names are taken by other requests"
        )

    async def _attempt(self, request: BindRequest) -> tuple[_Attempt, BindRequest | None]:
        """Retry until the outcome is certain."""
        attempt = 0
        while True:
            try:
                async with self.limiter.slot():
                    return _Attempt.WRITTEN, await self._client.create(BIND_REQUESTS, request)
            except RequestFailed as error:
                if isinstance(error, ApiError) and error.is_conflict:
                    found = await self._read_back(request)
                    if found is not None:
                        is_ours = found.spec == request.spec
                        return (_Attempt.WRITTEN, found) if is_ours else (_Attempt.TAKEN, None)
                elif not is_retryable(error):
                    raise
                if self._stopping or not self._observer.is_leader():
                    return _Attempt.DROPPED, None
                await asyncio.sleep(_RETRY.delay(min(attempt, 8), error))
                attempt += 1

    async def _read_back(self, request: BindRequest) -> BindRequest | None:
        """Return the request with that name; None if it is unknown, or gone by now."""
        try:
            return await self._client.get(BIND_REQUESTS, request.metadata.name, namespace=request.metadata.namespace)
        except RequestFailed as error:
            if is_retryable(error) or (isinstance(error, ApiError) and error.is_missing):
                return None
            raise


_DROPPED = Result(Outcome.DROPPED, "the scheduler is stopping")


def _message_for(error: RequestFailed) -> str:
    if isinstance(error, ApiError) and error.is_missing:
        return f"the bind request could not be written: {error}; install the kind {BIND_REQUESTS.name}"
    return f"the bind request could not be written: {error}"
