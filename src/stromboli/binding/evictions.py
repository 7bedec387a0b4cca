"""Victims are evicted: through the Eviction API, which honours disruption budgets, or by a plain delete.

Both carry the uid, so that a pod that took the victim's name stays untouched. A budget that is used up is waited
for, a little; then the victim stays, and whoever wanted its room is told.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from stromboli.binding.orders import DONE, EvictOrder, Outcome, Result
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.work.retry import RetryPolicy, is_retryable
from stromboli.kube.work.work_queue import drained, run_workers

#: What the server says of a budget that is used up.
_BUDGET = "disruption budget"
#: What the server says when two budgets cover a pod: it then evicts it for nobody.
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
                final = await self._judge(order, error)
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

    async def _judge(self, order: EvictOrder, error: RequestFailed) -> Result | None:
        """What an error means; None when it is worth another attempt."""
        if isinstance(error, ApiError):
            if error.is_missing or error.is_conflict:
                return DONE if await self._is_gone(order) else Result(Outcome.IMPOSSIBLE, error.message)
            if _MULTIPLE_BUDGETS in error.message:
                return Result(Outcome.IMPOSSIBLE, error.message)
        return None if is_retryable(error) else Result(Outcome.IMPOSSIBLE, str(error))

    async def _give_up(self, order: EvictOrder, error: RequestFailed) -> Result:
        if isinstance(error, ApiError) and error.is_throttled:
            who = "a disruption budget protects the pod" if _BUDGET in error.message else "the API server is busy"
            return Result(Outcome.IMPOSSIBLE, f"{who}: {error.message}")
        return DONE if await self._is_gone(order) else Result(Outcome.UNKNOWN, str(error))

    async def _is_gone(self, order: EvictOrder) -> bool:
        """Whether this very pod is gone or going."""
        try:
            pod = await self._client.get(PODS, order.name, namespace=order.namespace)
        except ApiError as error:
            return error.is_missing
        except RequestFailed:
            return False
        return pod.metadata.uid != order.uid or pod.metadata.deletion_timestamp is not None


class EvictionObserver(Protocol):
    """Who wants to know what became of evictions."""

    def is_leader(self) -> bool:
        """Whether we may write at all."""

    def evicted(self, order: EvictOrder, result: Result) -> None:
        """An eviction is done, impossible, unknown or dropped."""


class EvictWorkers:
    """So many evictions at a time."""

    def __init__(self, evictor: Evictor, ledger: EvictionObserver, *, workers: int = 8) -> None:
        self._evictor = evictor
        self._ledger = ledger
        self._workers = max(workers, 1)
        self._orders: asyncio.Queue[EvictOrder] = asyncio.Queue()
        self._unsettled = 0
        self._is_stopping = False

    @property
    def waiting(self) -> int:
        """Evictions that are not settled yet."""
        return self._unsettled

    def submit(self, order: EvictOrder) -> None:
        self._unsettled += 1
        self._orders.put_nowait(order)

    async def drain(self, timeout: float) -> int:
        """Finish what has begun and drop what has not, within the time; answers how many are still not settled."""
        self._is_stopping = True
        return await drained(lambda: self._unsettled, timeout)

    async def run(self) -> None:
        """Work until cancelled."""
        await run_workers(self._workers, self._worker)

    async def _worker(self) -> None:
        while True:
            order = await self._orders.get()
            result = await self._carry_out(order)
            self._unsettled -= 1
            self._ledger.evicted(order, result)

    async def _carry_out(self, order: EvictOrder) -> Result:
        if self._is_stopping or not self._ledger.is_leader():
            return Result(Outcome.DROPPED, "the scheduler is stopping")
        try:
            return await self._evictor.evict(order)
        except Exception as error:
            return Result(Outcome.UNKNOWN, f"{type(error).__name__}: {error}")
