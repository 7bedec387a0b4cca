"""The candidates of reclaim: tasks of queues that hold more than they deserve, as long as guarantees stay covered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from stromboli.core.model.queues.queue import QueueUsage
from stromboli.core.model.resources.resources import PODS, Amounts, Request, add_request
from stromboli.core.model.tasks.task import Task
from stromboli.core.plugins.capacity.queue_share import QueueShare


class ReclaimObjection(Enum):
    """The reason why a victim is protected; the value is the message."""

    NO_SHARED_RESOURCE = "it holds no resource that the preemptor requests"
    ELSEWHERE = "evicting it would not help: an ancestor of the preemptor's queue is full"
    GUARANTEED = "the guarantee of its queue covers it"
    DESERVED = "the queue has no more than it deserves"


class ReclaimRules:
    """Evaluates candidates in order; accepted ones count as evicted for those after them."""

    def __init__(self, preemptor: QueueShare, request: Request | None, level: int) -> None:
        self._preemptor = preemptor
        #: The request of the preemptor; None for a whole job.
        self._request = request
        self._level = level
        self._above = frozenset(queue_share.name for queue_share in preemptor.chain[1:])
        self._near = frozenset(queue_share.name for queue_share in preemptor.chain[1 : level + 1])
        #: By queue without enough capacity for the preemptor, what is missing: evictions inside them are needed.
        self._full = {
            holder.name: missing
            for member, holder in preemptor.steps
            if holder in preemptor.chain and (missing := _missing(holder, member, request or ()))
        }
        self._left: dict[str, Amounts] = {}

    def accepted(self, candidates: Sequence[tuple[Task, QueueShare]]) -> list[Task]:
        """Return the victims; those outside of full queues only if victims inside make enough capacity there."""
        if not self._full:
            return [task for task, queue_share in candidates if self._accepts(task, queue_share)]
        inside = [each for each in candidates if self._is_inside(each[1])]
        victims = [task for task, queue_share in inside if self._accepts(task, queue_share)]
        if len(inside) < len(candidates) and self._make_enough(victims):
            outside = [each for each in candidates if not self._is_inside(each[1])]
            victims += [task for task, queue_share in outside if self._accepts(task, queue_share)]
        return victims

    def _is_inside(self, queue_share: QueueShare) -> bool:
        return self._full.keys() <= {each.name for each in queue_share.chain}

    def _make_enough(self, victims: Sequence[Task]) -> bool:
        """Report whether the victims inside of full queues make enough capacity there."""
        freed: dict[int, int] = {}
        for task in victims:
            for dimension, amount in task.task_class.request:
                freed[dimension] = freed.get(dimension, 0) + amount
        return all(freed.get(d, 0) >= amount for missing in self._full.values() for d, amount in missing)

    def _accepts(self, victim: Task, queue_share: QueueShare) -> bool:
        request = victim.task_class.request
        if self._objection(victim, queue_share) is not None:
            return False
        for usage in queue_share.usage.chain:
            add_request(self._holding(usage), request, -1)
        return True

    def veto(self, victim: Task, queue_share: QueueShare) -> ReclaimObjection | None:
        """Return why a victim may not be evicted alone; None if it may."""
        objection = self._objection(victim, queue_share)
        if objection is not ReclaimObjection.NO_SHARED_RESOURCE and not self._is_inside(queue_share):
            return ReclaimObjection.ELSEWHERE
        return objection

    def _objection(self, victim: Task, queue_share: QueueShare) -> ReclaimObjection | None:
        request = victim.task_class.request
        if self._request is not None and not _share_a_resource(request, self._request):
            return ReclaimObjection.NO_SHARED_RESOURCE
        if not self._keeps_guarantees(queue_share, request):
            return ReclaimObjection.GUARANTEED
        return None if self._may_lose(queue_share, request) else ReclaimObjection.DESERVED

    def _holding(self, usage: QueueUsage) -> Amounts:
        """Return what a queue holds without the candidates accepted so far."""
        known = self._left.get(usage.name)
        if known is None:
            known = self._left[usage.name] = usage.allocated[:]
        return known

    def _keeps_guarantees(self, queue_share: QueueShare, request: Request) -> bool:
        """Report whether the queue, and each ancestor that the preemptor is not below, keeps its guarantee."""
        lost = dict(request)
        return all(
            amount <= self._holding(each.usage)[dimension] - lost.get(dimension, 0)
            for each in queue_share.chain
            if each.name not in self._above
            for dimension, amount in each.guaranteed
        )

    def _may_lose(self, queue_share: QueueShare, request: Request) -> bool:
        if not queue_share.deserves_any(request):
            if self._is_as_poor(queue_share):
                return False
        elif not queue_share.exceeds(self._holding(queue_share.usage), request):
            return False
        return all(
            not above.deserves_any(request) or above.exceeds(self._holding(above.usage), request)
            for above in queue_share.chain[1 : self._level + 1]
            if above.name not in self._above
        )

    def _is_as_poor(self, queue_share: QueueShare) -> bool:
        """Report whether the preemptor's queue is near and deserves as little, so that neither has precedence."""
        if self._request is None or self._preemptor.deserves_any(self._request):
            return False
        return any(above.name in self._near for above in queue_share.chain[1 : self._level + 1])


def _missing(holder: QueueShare, member: QueueShare, request: Request) -> list[tuple[int, int]]:
    """Return what a queue lacks for the request."""
    short = [(d, amount - holder.free(d, member)) for d, amount in request if d != PODS]
    return [(d, amount) for d, amount in short if amount > 0]


def _share_a_resource(one: Request, other: Request) -> bool:
    requested: Mapping[int, int] = dict(other)
    return any(dimension in requested for dimension, _ in one if dimension != PODS)
