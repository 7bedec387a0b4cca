"""Preparations whose decision has ended, or whose requests were deleted, are rolled back in the background.

Requests may also be deleted while no binder runs. A new leader therefore looks for pods that no request names and for
which plugins find something prepared, twice, with a pause between: a scheduler that binds directly may be preparing
them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from stromboli.binding.plugins.preparations import Preparations
from stromboli.binding.requests.assumed_placements import AssumedPlacements
from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.decisions import Decision, DecisionIndex
from stromboli.binding.requests.outcome_lookup import OutcomeLookup
from stromboli.cluster.state.cluster import SCHEDULER_NAMES
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.objects.pod import Pod
from stromboli.kube.work.retry import RetryPolicy

#: Seconds between the two observations of a preparation without a request.
SWEEP_PAUSE = 30.0
_RETRY = RetryPolicy(min_delay=0.5, max_delay=30.0, factor=2.0, jitter=False)

log = logging.getLogger("stromboli.binding")


class OrphanedPreparations:
    def __init__(
        self, view: BinderClusterView, assumed: AssumedPlacements, lookup: OutcomeLookup, preparations: Preparations
    ) -> None:
        self._view = view
        self._index: DecisionIndex = view.index
        self._assumed = assumed
        self._lookup = lookup
        self._preparations = preparations
        self._background: set[asyncio.Task[None]] = set()
        #: By the uid of a pod, the task that rolls back what was prepared for it.
        self._rolling_back: dict[str, asyncio.Task[None]] = {}

    def release(self, decision: Decision) -> None:
        """Release the capacity of members that are not bound, and drop what is kept in memory."""
        self._assumed.release(self._assumed.held_by(decision))
        decision.prepared.clear()
        decision.begun.clear()
        decision.problems.clear()
        decision.unknown.clear()

    def forget(self, decision: Decision) -> None:
        """Handle a deleted request: its pods are not bound, and what was prepared for them is rolled back.

        Binds in flight keep their capacity: the worker that sent them calls this again when they have finished.
        """
        if decision.is_processing:
            return
        begun = dict(decision.begun)
        if not (begun or decision.unknown):
            self.release(decision)
            return
        task = asyncio.ensure_future(self._clean_up(decision, begun))
        self._background.add(task)
        self._rolling_back |= dict.fromkeys(begun, task)
        task.add_done_callback(self._cleaned_up)

    async def sweep(self) -> None:
        """Roll back what was prepared for pods whose requests were deleted while no binder ran."""
        before = set(self._unnamed())
        await asyncio.sleep(SWEEP_PAUSE)
        for uid, pod in self._unnamed().items():
            if uid in before:
                log.warning("preparation without a bind request; rolling it back", extra={"pod": pod.key})
                placement = Placement(uid, pod.metadata.namespace, pod.metadata.name, job="", node="")
                task = asyncio.ensure_future(self._undo(placement))
                self._background.add(task)
                self._rolling_back[uid] = task
                task.add_done_callback(self._cleaned_up)

    def _unnamed(self) -> dict[str, Pod]:
        """Pods of schedulers that write requests, by uid: without a node and a request, but with preparations."""
        schedulers = {*SCHEDULER_NAMES, *(request.spec.scheduler for request in self._index.requests.values())}
        waiting = (pod for pod in self._view.of_kind(Pod) if not pod.spec.node_name)
        ours = (pod for pod in waiting if pod.spec.scheduler_name in schedulers)
        return {
            pod.metadata.uid: pod
            for pod in ours
            if not self._index.of_pod(pod.metadata.uid) and self._preparations.are_made_for(pod)
        }

    async def _undo(self, placement: Placement) -> None:
        attempt = 0
        while not self._index.of_pod(placement.uid) and (errors := await self._preparations.roll_back(placement)):
            log.warning("rollback failed", extra={"pod": placement.key, "error": "; ".join(errors)})
            await asyncio.sleep(_RETRY.delay(attempt))
            attempt += 1

    async def rollback_finished(self, uids: Iterable[str]) -> None:
        """Wait until no task rolls back what an earlier request prepared for these pods."""
        tasks = {self._rolling_back[uid] for uid in uids if uid in self._rolling_back}
        if tasks:
            await asyncio.wait(tasks)

    def _cleaned_up(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        self._rolling_back = {uid: each for uid, each in self._rolling_back.items() if each is not task}

    async def _clean_up(self, decision: Decision, begun: dict[str, Placement]) -> None:
        await self._wait_for_preparation(decision)
        await self._resolve(decision)
        self.release(decision)
        attempt = 0
        while begun := await self._roll_back(decision, begun):
            await asyncio.sleep(_RETRY.delay(attempt))
            attempt += 1

    async def _roll_back(self, decision: Decision, begun: dict[str, Placement]) -> dict[str, Placement]:
        """Roll back all members. Returns those that failed."""
        left = {}
        for uid, placement in begun.items():
            if self._is_bound(uid, decision) or self._index.transfer(uid, decision):
                continue
            if errors := await self._preparations.roll_back(placement):
                left[uid] = placement
                facts = {"request": decision.key, "pod": placement.key, "error": "; ".join(errors)}
                log.warning("rollback for a deleted bind request failed", extra=facts)
        return left

    async def _wait_for_preparation(self, decision: Decision) -> None:
        """Wait for a running preparation: plugins poll whether the request still exists. A cancelled plugin may have
        sent a write that arrives later, so only those are cancelled that do not end by themselves.
        """
        preparing = decision.preparing
        if preparing is not None and (await asyncio.wait((preparing,), timeout=decision.seconds))[1]:
            preparing.cancel()
            await asyncio.wait((preparing,))

    async def _resolve(self, decision: Decision) -> None:
        """Resolve unknown outcomes: a pod that may have been bound keeps its capacity until then."""
        attempt = 0
        while decision.unknown:
            try:
                await self._lookup.resolve(decision)
            except RequestFailed as error:
                await asyncio.sleep(_RETRY.delay(attempt, error))
                attempt += 1

    def _is_bound(self, uid: str, decision: Decision) -> bool:
        pod = self._view.pod(uid)
        return uid in decision.bound or (pod is not None and bool(pod.spec.node_name))
