"""What a decision leaves behind in this process when it has ended, or when its requests are gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from stromboli.binding.plugins.plugin import Bind
from stromboli.binding.requests.assumed_placements import AssumedPlacements
from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.decisions import Decision, DecisionIndex
from stromboli.binding.requests.outcome_lookup import OutcomeLookup
from stromboli.binding.requests.preparations import Preparations
from stromboli.kube.client.api_errors import RequestFailed

#: The pauses between attempts to find out or to undo something, in seconds: each is twice the one before.
_SHORTEST, _LONGEST = 0.5, 30.0

log = logging.getLogger("stromboli.binding")


class OrphanedPreparations:
    def __init__(
        self, sight: BinderClusterView, rooms: AssumedPlacements, lookup: OutcomeLookup, preparations: Preparations
    ) -> None:
        self._view = sight
        self._book: DecisionIndex = sight.book
        self._rooms = rooms
        self._lookup = lookup
        self._preparations = preparations
        self._background: set[asyncio.Task[None]] = set()
        #: By the uid of a pod, who takes back what was prepared for it.
        self._rolling_back: dict[str, asyncio.Task[None]] = {}

    def release(self, decision: Decision) -> None:
        """Who is not bound holds no room any more."""
        self._rooms.release(self._rooms.held_by(decision))
        decision.prepared.clear()
        decision.begun.clear()
        decision.problems.clear()
        decision.unknown.clear()

    def forget(self, decision: Decision) -> None:
        """The request is gone: nobody wants its pods to be bound. What was prepared for them is taken back.

        Bindings that are on their way keep their rooms: whoever sent them comes here again when they have arrived.
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

    async def rollback_finished(self, uids: Iterable[str]) -> None:
        """Wait until nobody takes back any more what an earlier request prepared for these pods."""
        tasks = {self._rolling_back[uid] for uid in uids if uid in self._rolling_back}
        if tasks:
            await asyncio.wait(tasks)

    def _cleaned_up(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        self._rolling_back = {uid: each for uid, each in self._rolling_back.items() if each is not task}

    async def _clean_up(self, decision: Decision, begun: dict[str, Bind]) -> None:
        await self._prepared(decision)
        await self._look_up(decision)
        self.release(decision)
        pause = _SHORTEST
        while begun := await self._take_back(decision, begun):
            await asyncio.sleep(pause)
            pause = min(pause * 2.0, _LONGEST)

    async def _take_back(self, decision: Decision, begun: dict[str, Bind]) -> dict[str, Bind]:
        """Answers what could not be taken back."""
        left = {}
        for uid, bind in begun.items():
            if self._is_bound(uid, decision) or self._book.transfer(uid, decision):
                continue
            if told := await self._preparations.take_back(bind):
                left[uid] = bind
                log.warning("a bind request is gone: %s", "; ".join(told), extra={"pod": bind.pod.key})
        return left

    async def _prepared(self, decision: Decision) -> None:
        """Plugins ask whether the request is still there. Who is cut off may have sent something that arrives later,
        so only those are that do not end by themselves.
        """
        preparing = decision.preparing
        if preparing is not None and (await asyncio.wait((preparing,), timeout=decision.seconds))[1]:
            preparing.cancel()
            await asyncio.wait((preparing,))

    async def _look_up(self, decision: Decision) -> None:
        """Who may have been bound keeps its room until the server has said it."""
        pause = _SHORTEST
        while decision.unknown:
            try:
                await self._lookup.resolve(decision)
            except RequestFailed:
                await asyncio.sleep(pause)
                pause = min(pause * 2.0, _LONGEST)

    def _is_bound(self, uid: str, decision: Decision) -> bool:
        pod = self._view.pod(uid)
        return uid in decision.bound or (pod is not None and bool(pod.spec.node_name))
