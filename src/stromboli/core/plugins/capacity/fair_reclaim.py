"""The candidates of reclaim where the surplus is shared: tasks of queues above their fair share.

Two queues are compared where their paths from the root diverge.
"""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.model.resources.resources import PODS, Request, add_request
from stromboli.core.model.tasks.task import Task
from stromboli.core.plugins.capacity.queue_share import QueueShare
from stromboli.core.plugins.capacity.reclaim import ReclaimRules
from stromboli.core.plugins.capacity.surplus import SurplusSharing


class FairReclaimRules(ReclaimRules):
    """Evaluates candidates in order; accepted ones count as evicted for those after them."""

    def __init__(
        self, sharing: SurplusSharing, preemptor: QueueShare, request: Request | None, needed: Request
    ) -> None:
        """The request is that of one task, or None for a whole job that needs `needed`."""
        super().__init__(preemptor, request, 0)
        self._sharing = sharing
        self._wanted = dict(sharing.units.request(needed if request is None else request))
        self._needed = needed

    def accepted(self, candidates: Sequence[tuple[Task, QueueShare]]) -> list[Task]:
        """Return the victims. Those nearest to the preemptor in the tree free shares of their common ancestors."""
        if len(self._preemptor.chain) > 1:
            candidates = sorted(candidates, key=lambda each: len(self._divergence(each[1])[0].chain), reverse=True)
        return super().accepted(candidates)

    def _divergence(self, other: QueueShare) -> tuple[QueueShare, QueueShare]:
        """Return the ancestors at which the paths of the preemptor's queue and another one diverge."""
        for mine, theirs in zip(reversed(self._preemptor.chain), reversed(other.chain), strict=False):
            if mine is not theirs:
                return mine, theirs
        return self._preemptor, other

    def _held(self, share: QueueShare) -> Sequence[int]:
        return self._sharing.units.amounts(self._holding(share.usage))

    def _may_lose(self, queue_share: QueueShare, request: Request) -> bool:
        mine, theirs = self._divergence(queue_share)
        held, fair = self._held(theirs), self._sharing.fair_share(theirs)
        counts = self._wanted.keys() if self._request is not None else range(len(held))
        charged = self._sharing.units.request(request)
        lost = tuple((d, amount) for d, amount in charged if d != PODS and d in counts)
        if any(held[d] > max(fair[d], theirs.deserved[d]) for d, _ in lost):
            is_fair = self._stays_behind(mine, theirs, lost)
        else:
            is_fair = self._is_within_deserved(mine) and any(held[d] > theirs.deserved[d] for d, _ in lost)
        return is_fair and self._comes_first(mine, theirs, request)

    def _comes_first(self, mine: QueueShare, theirs: QueueShare, request: Request) -> bool:
        """Report whether the preemptor is served before the victim, once it waits; otherwise it would take its place
        back.
        """
        left = self._holding(theirs.usage)[:]
        add_request(left, request, -1)
        own = self._sharing.place(mine, self._needed, self._holding(mine.usage))
        return own < self._sharing.place(theirs, request, left)

    def _is_within_deserved(self, mine: QueueShare) -> bool:
        held = self._held(mine)
        return all(held[d] + amount <= mine.deserved[d] for d, amount in self._wanted.items() if d != PODS)

    def _stays_behind(self, mine: QueueShare, theirs: QueueShare, lost: Request) -> bool:
        """Report whether the preemptor's queue stays within its fair share, or uses a smaller part of it than the
        other one after its loss.
        """
        fair, other = self._sharing.fair_share(mine), self._sharing.fair_share(theirs)
        held, left = self._held(mine), self._held(theirs)
        amounts = dict(lost)
        for dimension, amount in self._wanted.items():
            after, rest = held[dimension] + amount, left[dimension] - amounts.get(dimension, 0)
            if dimension != PODS and after > fair[dimension] and after * other[dimension] >= rest * fair[dimension]:
                return False
        return True
