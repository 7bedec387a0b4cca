"""Evicts victims: through the Eviction API, which honours disruption budgets, or by a plain delete.

Both carry the uid, so that a new pod with the victim's name stays untouched. An eviction that a disruption budget
blocks is retried for a short time; then the victim stays, and the failure is reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from stromboli.binding.orders import DONE, EvictOrder, Outcome, Result
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.work.retry import RetryPolicy, is_retryable
from stromboli.kube.work.work_queue import WorkQueue

#: Part of the API server's message when a budget is exhausted.
_BUDGET = "disruption budget"
#: Part of the message when two budgets cover a pod: it can then never be evicted.
_MULTIPLE_BUDGETS = "more than one PodDisruptionBudget"


class Evictor:
    """Evicts pods one by one."""

    def __init__(
        self,
        client: Client,
        *,
        delete: bool = False,
        retry: RetryPolicy | None = None,
        is_leader: Callable[[], bool] = lambda: True,
    ) -> None:
        self._client = client
        self._is_leader = is_leader
        self._delete = delete
        self._retry = retry or RetryPolicy(attempts=4, min_delay=0.5, max_delay=10.0)

    async def evict(self, order: EvictOrder) -> Result:
        attempt, began = 0, time.monotonic()
        while True:
            try:
                await self._remove(order)
            except RequestFailed as error:
                final = await self._result_of(order, error)
                if final is not None:
                    return final
                if not await self._retry.wait(attempt, error, began) or not self._is_leader():
                    return await self._give_up(order, error)
                attempt += 1
            else:
                return DONE

    async def _remove(self, order: EvictOrder) -> None:
        if self._delete:
            await self._client.delete(PODS, order.name, namespace=order.namespace, uid=order.uid)
        else:
            await self._client.evict(order.namespace, order.name, order.uid)

    async def _result_of(self, order: EvictOrder, error: RequestFailed) -> Result | None:
        """Return the result that an error means; None for a retry."""
        if isinstance(error, ApiError):
            if error.is_missing or error.is_conflict:
                return DONE if await self._is_gone(order) else Result(Outcome.IMPOSSIBLE, error.message)
            if _MULTIPLE_BUDGETS in error.message:
                return Result(Outcome.IMPOSSIBLE, error.message)
        return None if is_retryable(error) else Result(Outcome.IMPOSSIBLE, str(error))

    async def _give_up(self, order: EvictOrder, error: RequestFailed) -> Result:
        if isinstance(error, ApiError) and error.is_throttled:
            cause = "a disruption budget protects the pod" if _BUDGET in error.message else "the API server is busy"
            return Result(Outcome.IMPOSSIBLE, f"{cause}: {error.message}")
        return DONE if await self._is_gone(order) else Result(Outcome.UNKNOWN, str(error))

    async def _is_gone(self, order: EvictOrder) -> bool:
        """Report whether exactly this pod is deleted or terminating."""
        try:
            pod = await self._client.get(PODS, order.name, namespace=order.namespace)
        except ApiError as error:
            return error.is_missing
        except RequestFailed:
            return False
        return pod.metadata.uid != order.uid or pod.metadata.deletion_timestamp is not None


class EvictionObserver(Protocol):
    """Receives the results of evictions."""

    def is_leader(self) -> bool:
        """Report whether this process may write."""

    def evicted(self, order: EvictOrder, result: Result) -> None:
        """Handle the result of one eviction."""


class EvictWorkers:
    """Runs `workers` evictions at a time."""

    def __init__(self, evictor: Evictor, observer: EvictionObserver, *, workers: int = 8) -> None:
        self._evictor = evictor
        self._observer = observer
        self._queue: WorkQueue[EvictOrder] = WorkQueue(self._process, name="eviction", workers=workers)
        self._stopping = False

    @property
    def waiting(self) -> int:
        """Evictions that are not settled yet."""
        return self._queue.pending

    def submit(self, order: EvictOrder) -> None:
        self._queue.add(order)

    async def drain(self, timeout: float) -> int:
        """Finish started evictions and drop the others. Returns how many are unsettled at the timeout."""
        self._stopping = True
        return await self._queue.drain(timeout)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._queue.run()

    async def _process(self, order: EvictOrder) -> None:
        self._observer.evicted(order, await self._evict(order))

    async def _evict(self, order: EvictOrder) -> Result:
        if self._stopping or not self._observer.is_leader():
            return Result(Outcome.DROPPED, "the scheduler is stopping")
        try:
            return await self._evictor.evict(order)
        except Exception as error:
            return Result(Outcome.UNKNOWN, f"{type(error).__name__}: {error}")
