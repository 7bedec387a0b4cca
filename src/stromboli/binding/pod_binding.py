"""Binds one pod: steps, the Binding with the uid as a precondition, and a read where the answer is ambiguous.

A retry is safe, because the API server binds a pod only once: the second attempt gets a conflict, and the pod shows the
node that it has.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from stromboli.binding.concurrency import ConcurrencyLimiter
from stromboli.binding.orders import DONE, FOUND, Outcome, Result
from stromboli.binding.steps.step import BindStep, Preparation, StepFailed
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.work.retry import RetryPolicy, is_retryable


class PodBinder:
    """Binds pods one by one, with at most `max_parallel` requests at a time."""

    def __init__(
        self,
        client: Client,
        steps: Sequence[BindStep] = (),
        retry: RetryPolicy | None = None,
        is_leader: Callable[[], bool] = lambda: True,
        max_parallel: int = 32,
    ) -> None:
        self._client = client
        self.limiter = ConcurrencyLimiter(max_parallel)
        self._is_leader = is_leader
        self._steps = steps
        self._retry = retry or RetryPolicy()

    async def bind(self, placement: Placement) -> Result:
        preparation = Preparation(self._steps, placement)
        try:
            await preparation.run()
        except StepFailed as error:
            return await self._rolled_back(preparation, Result(Outcome.IMPOSSIBLE, str(error)))
        except RequestFailed as error:
            return await self._rolled_back(preparation, Result(Outcome.IMPOSSIBLE, f"preparation failed: {error}"))
        result = await self._write(placement)
        # After an attempt with an unknown outcome, the pod may use what was prepared.
        return await self._rolled_back(preparation, result) if result.outcome is Outcome.IMPOSSIBLE else result

    async def _rolled_back(self, preparation: Preparation, result: Result) -> Result:
        errors = await preparation.undo()
        return Result(result.outcome, "; ".join((result.problem, *errors))) if errors else result

    async def _write(self, placement: Placement) -> Result:
        attempt, began = 0, time.monotonic()
        while True:
            try:
                async with self.limiter.slot():
                    await self._client.bind(
                        placement.namespace,
                        placement.name,
                        placement.uid,
                        placement.node,
                        annotations=placement.annotations,
                        labels=placement.labels,
                    )
            except RequestFailed as error:
                if isinstance(error, ApiError) and error.is_conflict:
                    return await self._read_back(placement, error)
                if not is_retryable(error):
                    return Result(Outcome.IMPOSSIBLE, str(error))
                if not await self._retry.wait(attempt, error, began) or not self._is_leader():
                    return Result(Outcome.UNKNOWN, str(error))
                attempt += 1
            else:
                return DONE

    async def _read_back(self, placement: Placement, conflict: ApiError) -> Result:
        """Find out what a conflict means: an earlier attempt may have bound the pod."""
        try:
            pod = await self._client.get(PODS, placement.name, namespace=placement.namespace)
        except ApiError as error:
            if error.is_missing:
                return Result(Outcome.IMPOSSIBLE, "the pod is gone")
            return Result(Outcome.UNKNOWN, str(error))
        except RequestFailed as error:
            return Result(Outcome.UNKNOWN, str(error))
        if pod.metadata.uid != placement.uid:
            return Result(Outcome.IMPOSSIBLE, "the pod is gone, and another pod has its name")
        if pod.spec.node_name == placement.node:
            return FOUND
        if pod.spec.node_name:
            return Result(Outcome.IMPOSSIBLE, f"another writer bound the pod to node {pod.spec.node_name}")
        return Result(Outcome.IMPOSSIBLE, conflict.message)


class ParallelBinds:
    """Binds at most `per_node` pods to one node at a time."""

    def __init__(self, binder: PodBinder, *, per_node: int) -> None:
        self._binder = binder
        self._per_node = max(per_node, 1)
        #: By node, its semaphore and how many binds use it or wait for it.
        self._slots: dict[str, tuple[asyncio.Semaphore, int]] = {}
        #: Members that are being bound.
        self.in_flight = 0

    async def bind(
        self, placements: Sequence[Placement], precondition_error: Callable[[Placement], str]
    ) -> dict[str, Result]:
        """Bind all placements. Returns results by uid. Preconditions are checked immediately before each bind."""
        self.in_flight += len(placements)
        try:
            results = await asyncio.gather(*(self._bind(each, precondition_error) for each in placements))
        finally:
            self.in_flight -= len(placements)
        return {placement.uid: result for placement, result in zip(placements, results, strict=True)}

    async def _bind(self, placement: Placement, precondition_error: Callable[[Placement], str]) -> Result:
        node = placement.node
        slots, users = self._slots.get(node) or (asyncio.Semaphore(self._per_node), 0)
        self._slots[node] = slots, users + 1
        try:
            async with slots:
                if problem := precondition_error(placement):
                    return Result(Outcome.IMPOSSIBLE, problem)
                return await self._binder.bind(placement)
        except Exception as error:
            return Result(Outcome.UNKNOWN, f"{type(error).__name__}: {error}")
        finally:
            slots, users = self._slots[node]
            if users > 1:
                self._slots[node] = slots, users - 1
            else:
                del self._slots[node]
