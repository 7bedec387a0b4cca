"""The condition PodBound of pods: whether the pod is bound, and if not, why the last attempt failed.

What is told gives way to what is done: while pods are being bound, conditions wait a little. Of several wishes about
one pod the last is written, and one that the pod says already is not.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.client.client import Client, PatchKind
from stromboli.kube.events.series import shortened
from stromboli.kube.objects import timestamps
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.objects.pod import Pod
from stromboli.kube.work.retry import RetryPolicy, is_retryable
from stromboli.kube.work.work_queue import drained, run_workers

POD_BOUND = "PodBound"
BOUND, BINDING_ERROR = "Bound", "BindingError"
#: How long a condition gives way to binds, in seconds, and how often its turn is asked for.
LONGEST_YIELD, LOOK_AGAIN = 5.0, 0.05


class _DesiredCondition(NamedTuple):
    namespace: str
    name: str
    problem: str
    since: float


class PodConditions:
    """Writes in the background. `find` knows a pod by its uid."""

    def __init__(
        self,
        client: Client,
        find: Callable[[str], Pod | None],
        *,
        workers: int = 8,
        retry: RetryPolicy | None = None,
        yields: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._find = find
        self._workers = max(workers, 1)
        self._retry = retry or RetryPolicy(attempts=4, min_delay=0.2, max_delay=5.0)
        self._yields = yields
        self._clock = clock
        self._wishes: OrderedDict[str, _DesiredCondition] = OrderedDict()
        self._under_way: set[str] = set()
        self._work = asyncio.Event()
        self.written = 0
        self.failed = 0

    @property
    def waiting(self) -> int:
        return len(self._wishes) + len(self._under_way)

    def bound(self, namespace: str, name: str, uid: str) -> None:
        self._enqueue_condition(uid, _DesiredCondition(namespace, name, "", self._clock()))

    def failed_to_bind(self, namespace: str, name: str, uid: str, problem: str) -> None:
        self._enqueue_condition(uid, _DesiredCondition(namespace, name, problem, self._clock()))

    def lacks_condition(self, uid: str) -> bool:
        """Whether a pod that has no node says nothing about why, and nothing is about to be said."""
        pod = self._find(uid)
        if pod is None or pod.spec.node_name or uid in self._wishes or uid in self._under_way:
            return False
        return all(each.type != POD_BOUND for each in pod.status.conditions or ())

    def has_wrong_condition(self, uid: str) -> bool:
        """Whether a pod that has a node says that it has none."""
        pod = self._find(uid)
        said = (each.status for each in (pod.status.conditions if pod else None) or () if each.type == POD_BOUND)
        return pod is not None and bool(pod.spec.node_name) and "False" in said

    def _enqueue_condition(self, uid: str, wish: _DesiredCondition) -> None:
        pod = self._find(uid)
        if pod is None or (uid not in self._under_way and _says(pod, wish)):
            self._wishes.pop(uid, None)
            return
        earlier = self._wishes.get(uid)
        self._wishes[uid] = wish._replace(since=earlier.since) if earlier else wish
        self._work.set()

    async def run(self) -> None:
        """Write until cancelled."""
        await run_workers(self._workers, self._worker)

    async def flush(self, timeout: float) -> int:
        """Wait until nothing is left to write, or time is up; answers how much is left."""
        return await drained(lambda: self.waiting, timeout)

    async def _worker(self) -> None:
        while True:
            uid = next((each for each in self._wishes if each not in self._under_way), None)
            if uid is None:
                self._work.clear()
                await self._work.wait()
            elif self._yields() and self._clock() - self._wishes[uid].since < LONGEST_YIELD:
                await asyncio.sleep(LOOK_AGAIN)
            else:
                await self._write(uid, self._wishes.pop(uid))

    async def _write(self, uid: str, wish: _DesiredCondition) -> None:
        self._under_way.add(uid)
        try:
            await self._patch(uid, wish)
        finally:
            self._under_way.discard(uid)
            if uid in self._wishes:
                self._work.set()

    async def _patch(self, uid: str, wish: _DesiredCondition) -> None:
        condition = {
            "type": POD_BOUND,
            "status": "False" if wish.problem else "True",
            "reason": BINDING_ERROR if wish.problem else BOUND,
            "message": shortened(wish.problem),
            "lastTransitionTime": timestamps.now(),
        }
        body = {"metadata": {"uid": uid}, "status": {"conditions": [condition]}}
        attempt = 0
        while True:
            try:
                await self._client.patch(
                    PODS, wish.name, body, namespace=wish.namespace, subresource="status", kind=PatchKind.STRATEGIC
                )
            except RequestFailed as error:
                if not is_retryable(error) or not await self._retry.wait(attempt, error):
                    self.failed += 1
                    return
                attempt += 1
            else:
                self.written += 1
                return


def _says(pod: Pod, wish: _DesiredCondition) -> bool:
    """Whether the pod says it already."""
    wanted = ("False", shortened(wish.problem)) if wish.problem else ("True", "")
    said = ((each.status, each.message or "") for each in pod.status.conditions or () if each.type == POD_BOUND)
    return next(said, None) == wanted
