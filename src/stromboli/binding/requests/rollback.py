"""Undoes a gang that cannot be completed: evicts the pods that this request bound, and rolls back preparations.

The phase Unwinding is written before the first eviction, so that the next process continues. Only pods with the
annotation of the request are evicted, by their uids.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from stromboli.binding.evictions import Evictor
from stromboli.binding.gangs import UNWIND_REASON
from stromboli.binding.orders import EvictOrder, Outcome
from stromboli.binding.plugins.preparations import Preparations
from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.decisions import Decision, DecisionIndex
from stromboli.binding.requests.placements import bound_placement
from stromboli.binding.requests.progress import was_bound_by
from stromboli.binding.requests.reports import Reports
from stromboli.kube.objects.bind_requests import BindRequest, BoundPod

#: Members of one gang that are undone at a time.
MAX_PARALLEL = 8

UndoMember = Callable[[BindRequest, BoundPod], Awaitable[str]]


class GangRollback:
    def __init__(self, evictor: Evictor, preparations: Preparations, view: BinderClusterView, reports: Reports) -> None:
        self._evictor = evictor
        self._preparations = preparations
        self._view = view
        self._index: DecisionIndex = view.index
        self._reports = reports

    async def unwind(self, decision: Decision) -> dict[str, str]:
        """Evict and roll back, the last member first. Returns by uid what could not be undone now, and why."""

        async def evict(request: BindRequest, member: BoundPod) -> str:
            return await self._evict(request, member, is_known=member.pod_uid in decision.bound)

        left = await self._for_each_member(decision, evict)
        return left or await self.roll_back(decision)

    async def roll_back(self, decision: Decision, uids: Collection[str] | None = None) -> dict[str, str]:
        """Roll back preparations, of these members or of all. Returns by uid what could not be undone."""

        async def roll_back(request: BindRequest, member: BoundPod) -> str:
            if (uids is not None and member.pod_uid not in uids) or self._index.transfer(member.pod_uid, decision):
                return ""
            return await self._roll_back(request, member)

        return await self._for_each_member(decision, roll_back)

    async def _for_each_member(self, decision: Decision, undo: UndoMember) -> dict[str, str]:
        slots = asyncio.Semaphore(MAX_PARALLEL)
        members = list(decision.members())[::-1]

        async def one(request: BindRequest, member: BoundPod) -> str:
            async with slots:
                return await undo(request, member)

        errors = await asyncio.gather(*(one(request, member) for request, member in members))
        return {member.pod_uid: error for (_, member), error in zip(members, errors, strict=True) if error}

    async def _evict(self, request: BindRequest, member: BoundPod, *, is_known: bool) -> str:
        pod = self._view.pod(member.pod_uid)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return ""
        if not (is_known or was_bound_by(pod, request, member)):
            return ""
        namespace, group = pod.metadata.namespace, request.spec.pod_group
        order = EvictOrder(member.pod_uid, namespace, member.pod_name, group, UNWIND_REASON)
        result = await self._evictor.evict(order)
        self._reports.eviction_finished(request, member, result.outcome)
        if result.outcome is not Outcome.DONE:
            return f"pod {member.pod_name} cannot be evicted: {result.problem}"
        return ""

    async def _roll_back(self, request: BindRequest, member: BoundPod) -> str:
        pod = self._view.pod(member.pod_uid)
        if pod is not None and pod.spec.node_name and not was_bound_by(pod, request, member):
            return ""  # another writer bound the pod, which uses what was prepared
        placement = bound_placement(request, member)
        if not self._preparations.applies_to(placement):
            return ""
        return "; ".join(await self._preparations.roll_back(placement))
