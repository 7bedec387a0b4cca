"""Bounded workers that write decisions down: one bind request per commit, for the binder to carry out.

They stand where the workers stand that bind pods themselves, and like them look at a commit as a whole before anything
is written. A commit is theirs until its request is known to exist; then the request holds the room, and what becomes of
it is told by its status. Writing is safe to repeat: a request that is there already and says the same is ours.
"""

from __future__ import annotations

import asyncio
import enum
from collections import deque
from collections.abc import Callable, Sequence

from stromboli.binding.concurrency import ConcurrencyLimiter
from stromboli.binding.direct.workers import BindObserver
from stromboli.binding.orders import BindOrder, Commit, Outcome, Result
from stromboli.cluster.ingest.ingest import Mirror
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.catalogue import BIND_REQUESTS
from stromboli.kube.work.retry import RetryPolicy, is_retryable
from stromboli.kube.work.work_queue import drained, run_workers
from stromboli.scheduler.bind_requests.builder import BindRequestBuilder

#: So many names that others have are passed over for one request.
MAX_NAMES = 100
_PAUSE = RetryPolicy(min_delay=0.1, max_delay=5.0)


class _Attempt(enum.Enum):
    WRITTEN = "written"
    #: Somebody else's request has the name.
    TAKEN = "taken"
    #: Not written, and never will be: we are no longer in charge, or are stopping.
    DROPPED = "dropped"


class BindRequestWriters:
    """`workers` requests are written at a time. `left_over` is told of parts of decisions that were given up."""

    #: Nothing is prepared here: that is for the binder.
    preparing = 0

    def __init__(
        self,
        client: Client,
        mirror: Mirror,
        ledger: BindObserver,
        maker: BindRequestBuilder,
        *,
        workers: int = 32,
        written: Callable[[int], None] = lambda requests: None,
        orphaned: Callable[[BindRequest], None] = lambda request: None,
    ) -> None:
        self._client = client
        self._mirror = mirror
        self._ledger = ledger
        self._maker = maker
        self._workers = max(workers, 1)
        self._written = written
        self._left_over = orphaned
        self.limiter = ConcurrencyLimiter(self._workers)
        self._lines: deque[Commit] = deque()
        self._work = asyncio.Event()
        self._stopping = False
        self._unsettled = 0

    @property
    def waiting(self) -> int:
        """Members of which it is not known that their request exists."""
        return self._unsettled

    def submit(self, commit: Commit) -> None:
        """Take a commit on."""
        self._unsettled += len(commit.members)
        self._lines.append(commit)
        self._work.set()

    async def run(self) -> None:
        """Work until cancelled."""
        await run_workers(self._workers, self._worker)

    async def drain(self, timeout: float) -> int:
        """Finish what has begun and drop the rest, within the time; answers how many members are not settled."""
        self._stopping = True
        self._work.set()
        return await drained(lambda: self._unsettled, timeout)

    async def _worker(self) -> None:
        while True:
            while not self._lines:
                self._work.clear()
                await self._work.wait()
            commit = self._lines.popleft()
            try:
                await self._process(commit)
            finally:
                self._unsettled -= len(commit.members)

    async def _process(self, commit: Commit) -> None:
        results: dict[str, Result] = {}
        if self._stopping or not self._ledger.is_leader():
            results = dict.fromkeys((order.uid for order in commit.members), _DROPPED)
        else:
            results = self._judge(commit)
            if members := [order for order in commit.members if order.uid not in results]:
                results |= await self._write_requests(commit, members)
        for order in commit.members:
            if order.uid in results:
                self._ledger.settled(commit, order, results[order.uid])
        if len(results) == len(commit.members):
            self._ledger.finished(commit, results)

    def _judge(self, commit: Commit) -> dict[str, Result]:
        """The members that have become impossible; all of them, when too few are left for the gang."""
        precondition_errors = {order.uid: self._ledger.obstacle(order) for order in commit.members}
        problems = {uid: text for uid, text in precondition_errors.items() if text}
        if problems and len(commit.members) - len(problems) < commit.needed:
            reason = f"another member of the gang cannot be bound: {next(iter(problems.values()))}"
            problems = {order.uid: problems.get(order.uid, reason) for order in commit.members}
        return {uid: Result(Outcome.IMPOSSIBLE, text) for uid, text in problems.items()}

    async def _write_requests(self, commit: Commit, members: Sequence[BindOrder]) -> dict[str, Result]:
        """Answers nothing when it is done: the rooms are then those of the requests."""
        written: list[BindRequest] = []
        problem = _DROPPED
        try:
            for request in self._maker.requests_of(commit, members):
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
            self._left_over(request)
        return dict.fromkeys((order.uid for order in members), problem)

    def _transfer(self, members: Sequence[BindOrder], requests: Sequence[BindRequest]) -> None:
        for order in members:
            self._mirror.cluster.assumptions.forget(order.uid)
        self._written(len(requests))

    async def _write(self, request: BindRequest) -> BindRequest | None:
        """The request as it stands on the server; None when we may not write any more. Raises RequestFailed."""
        for _ in range(MAX_NAMES):
            attempt, found = await self._attempt(request)
            if attempt is _Attempt.DROPPED:
                return None
            if found is not None:
                self._mirror.apply(found)
                return found
            request = self._maker.renamed(request)
        raise ApiError(409, "AlreadyExists", f"BindRequest {request.key}: {MAX_NAMES} names are taken by others")

    async def _attempt(self, request: BindRequest) -> tuple[_Attempt, BindRequest | None]:
        """Until the server has said something that leaves no doubt, however often it has to be asked."""
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
                if self._stopping or not self._ledger.is_leader():
                    return _Attempt.DROPPED, None
                await asyncio.sleep(_PAUSE.delay(min(attempt, 8), error))
                attempt += 1

    async def _read_back(self, request: BindRequest) -> BindRequest | None:
        """The request of that name; None when that is not known, or it is gone by now."""
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
