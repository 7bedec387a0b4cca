"""Binds one pod: steps, the Binding with the uid as a precondition, and a read where the answer is ambiguous.

A retry is safe, because the API server binds a pod only once: the second attempt gets a conflict, and the pod shows the
node that it has.
"""

from __future__ import annotations

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
