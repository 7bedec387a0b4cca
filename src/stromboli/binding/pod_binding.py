"""One pod is bound: prepared, written with the uid as a precondition, and read back when the answer leaves doubt.

Repeating a binding is safe, because the server binds a pod only once: the second attempt is answered with a
conflict, and the pod itself then says where it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from stromboli.binding.concurrency import ConcurrencyLimiter
from stromboli.binding.orders import DONE, FOUND, BindOrder, Outcome, Result
from stromboli.binding.steps.step import BindStep, Preparation, StepFailed
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.work.retry import RetryPolicy, is_retryable


class PodBinder:
    """Binds pods one by one; `steps` are the preparations, in order."""

    def __init__(
        self,
        client: Client,
        steps: Sequence[BindStep] = (),
        retry: RetryPolicy | None = None,
        is_leader: Callable[[], bool] = lambda: True,
        at_a_time: int = 32,
    ) -> None:
        self._client = client
        #: How many bindings the server is asked for at a time.
        self.limiter = ConcurrencyLimiter(at_a_time)
        self._is_leader = is_leader
        self._steps = steps
        self._retry = retry or RetryPolicy()

    async def bind(self, order: BindOrder) -> Result:
        preparation = Preparation(self._steps, order)
        try:
            await preparation.run()
        except StepFailed as error:
            return await self._rolled_back(preparation, Result(Outcome.IMPOSSIBLE, str(error)))
        except RequestFailed as error:
            return await self._rolled_back(preparation, Result(Outcome.IMPOSSIBLE, f"preparation failed: {error}"))
        result = await self._write(order)
        # What was prepared for an attempt whose outcome nobody knows may be in use.
        return await self._rolled_back(preparation, result) if result.outcome is Outcome.IMPOSSIBLE else result

    async def _rolled_back(self, preparation: Preparation, result: Result) -> Result:
        problems = await preparation.undo()
        return Result(result.outcome, "; ".join((result.problem, *problems))) if problems else result

    async def _write(self, order: BindOrder) -> Result:
        attempt, began = 0, time.monotonic()
        while True:
            try:
                async with self.limiter.slot():
                    await self._client.bind(
                        order.namespace,
                        order.name,
                        order.uid,
                        order.node,
                        annotations=order.annotations,
                        labels=order.labels,
                    )
            except RequestFailed as error:
                if isinstance(error, ApiError) and error.is_conflict:
                    return await self._read_back(order, error)
                if not is_retryable(error):
                    return Result(Outcome.IMPOSSIBLE, str(error))
                if not await self._retry.wait(attempt, error, began) or not self._is_leader():
                    return Result(Outcome.UNKNOWN, str(error))
                attempt += 1
            else:
                return DONE

    async def _read_back(self, order: BindOrder, conflict: ApiError) -> Result:
        """The server says that the pod cannot be bound (any more): perhaps because we have done it already."""
        try:
            pod = await self._client.get(PODS, order.name, namespace=order.namespace)
        except ApiError as error:
            if error.is_missing:
                return Result(Outcome.IMPOSSIBLE, "the pod is gone")
            return Result(Outcome.UNKNOWN, str(error))
        except RequestFailed as error:
            return Result(Outcome.UNKNOWN, str(error))
        if pod.metadata.uid != order.uid:
            return Result(Outcome.IMPOSSIBLE, "the pod is gone, and another one has taken its name")
        if pod.spec.node_name == order.node:
            return FOUND
        if pod.spec.node_name:
            return Result(Outcome.IMPOSSIBLE, f"somebody else bound the pod to node {pod.spec.node_name}")
        return Result(Outcome.IMPOSSIBLE, conflict.message)
