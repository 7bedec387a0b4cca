"""A gang that cannot be completed is undone: what this request bound is evicted, what was prepared is taken back.

That it is being undone is written before the first eviction, so that whoever finds it half undone goes on with it. Only
pods that carry the mark of the request are evicted, and only these very ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from stromboli.binding.evictions import Evictor
from stromboli.binding.orders import EvictOrder, Outcome
from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.decisions import Decision
from stromboli.binding.requests.preparations import Preparations
from stromboli.binding.requests.progress import bind_of, is_ours
from stromboli.kube.objects.bind_requests import BindRequest, BoundPod

#: Evictions and preparations of one gang that are undone at a time.
AT_A_TIME = 8
WHY = "the gang could not be completed"


class GangRollback:
    """`evicted` is told of every member that goes, and `counted` of how every eviction ended."""

    def __init__(
        self,
        evictor: Evictor,
        preparations: Preparations,
        sight: BinderClusterView,
        evicted: Callable[[BindRequest, BoundPod], None],
        counted: Callable[[Outcome], None],
    ) -> None:
        self._evictor = evictor
        self._preparations = preparations
        self._view = sight
        self._book = sight.book
        self._evicted = evicted
        self._counted = counted

    async def unwind(self, decision: Decision) -> dict[str, str]:
        """Undo everything that can be undone now, the last first; by uid, what is left to be undone, and why."""

        async def evict(request: BindRequest, member: BoundPod) -> str:
            return await self._evict(request, member, is_known=member.pod_uid in decision.bound)

        left = await self._for_each_member(decision, evict)
        return left or await self.take_back(decision)

    async def take_back(self, decision: Decision, whom: Collection[str] | None = None) -> dict[str, str]:
        """Take back what was prepared, for these members or for all; by uid, what could not be."""

        async def take_back(request: BindRequest, member: BoundPod) -> str:
            if (whom is not None and member.pod_uid not in whom) or self._book.transfer(member.pod_uid, decision):
                return ""
            return await self._take_back(request, member)

        return await self._for_each_member(decision, take_back)

    async def _for_each_member(
        self, decision: Decision, undo: Callable[[BindRequest, BoundPod], Awaitable[str]]
    ) -> dict[str, str]:
        turns = asyncio.Semaphore(AT_A_TIME)
        members = list(decision.members())[::-1]

        async def one(request: BindRequest, member: BoundPod) -> str:
            async with turns:
                return await undo(request, member)

        found = await asyncio.gather(*(one(request, member) for request, member in members))
        return {member.pod_uid: words for (_, member), words in zip(members, found, strict=True) if words}

    async def _evict(self, request: BindRequest, member: BoundPod, *, is_known: bool) -> str:
        pod = self._view.pod(member.pod_uid)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return ""
        if not (is_known or is_ours(pod, request, member)):
            return ""
        order = EvictOrder(member.pod_uid, pod.metadata.namespace, member.pod_name, request.spec.pod_group, WHY)
        result = await self._evictor.evict(order)
        self._counted(result.outcome)
        if result.outcome is not Outcome.DONE:
            return f"pod {member.pod_name} cannot be evicted: {result.problem}"
        self._evicted(request, member)
        return ""

    async def _take_back(self, request: BindRequest, member: BoundPod) -> str:
        pod, node = self._view.pod(member.pod_uid), self._view.node(member.selected_node)
        if pod is not None and pod.spec.node_name and not is_ours(pod, request, member):
            return ""  # somebody else bound it, and needs what it has
        bind = bind_of(request, member, pod, node)
        if not self._preparations.applies_to(bind):
            return ""
        return "; ".join(await self._preparations.take_back(bind))
