"""The share of one queue in a cycle: what it deserves, what it may hold, and its ancestors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from stromboli.core.model.queues.queue import Queue, QueueUsage
from stromboli.core.model.reasons import Reason
from stromboli.core.model.resources.resources import PODS, Amounts, Request, add_amounts, exceeding, subtract_amounts


@dataclass(slots=True, eq=False)
class QueueShare:
    """The share of a queue. Its use, including its descendants, is read from the ledger."""

    queue: Queue
    usage: QueueUsage
    guarantee: Amounts
    deserved: Amounts
    limit: Amounts
    ceiling: Amounts
    title: str = ""
    #: The reason why the queue accepts no pods; None if it does.
    refusal: Reason | None = None
    #: Whether the queue is detached from the tree, so that its share is undefined.
    is_detached: bool = False
    #: This queue and its ancestors, without the root.
    chain: tuple[QueueShare, ...] = ()
    #: The queues whose limits apply, each with its child on the path to this queue.
    steps: tuple[tuple[QueueShare, QueueShare], ...] = ()
    #: The capacity reserved for the guarantees of its members; None if they have none.
    reserve: Reserve | None = None
    #: The deserved amounts, without those that are 0.
    parts: Request = field(init=False)
    guaranteed: Request = field(init=False)

    def __post_init__(self) -> None:
        self.parts = tuple((d, amount) for d, amount in enumerate(self.deserved) if amount)
        self.guaranteed = tuple((d, amount) for d, amount in enumerate(self.guarantee) if amount)
        self.title = self.title or f"queue {self.name}"

    @property
    def name(self) -> str:
        return self.queue.name

    @property
    def share(self) -> float:
        """Return the largest used fraction of what it deserves; 1 or more for a queue that deserves nothing."""
        if not self.parts:
            return 1.0
        allocated, share = self.usage.allocated, 0.0
        for dimension, amount in self.parts:
            part = allocated[dimension] / amount
            if part > share:
                share = part
        return share

    def deserves_any(self, request: Iterable[tuple[int, int]]) -> bool:
        """Report whether the queue deserves any of the requested resources; every pod requests a pod slot."""
        return any(self.deserved[dimension] for dimension, _ in request if dimension != PODS)

    def exceeds(self, holding: Sequence[int], request: Request) -> bool:
        """Report whether, holding this much, it exceeds what it deserves of a requested resource."""
        return any(0 < self.deserved[d] < holding[d] for d, _ in request if d != PODS)

    def beyond_deserved(self, wanted: Request) -> list[int] | None:
        """Return the resources of which it would exceed what it deserves with this much more, where it deserves any;
        None if it deserves none of the others.
        """
        allocated, deserved = self.usage.allocated, self.deserved
        beyond = [d for d, amount in wanted if d != PODS and 0 < deserved[d] < allocated[d] + amount]
        return beyond if self.deserves_any([each for each in wanted if each[0] not in beyond]) else None

    def free(self, dimension: int, member: QueueShare) -> int:
        """Return how much more of a resource may go to a member."""
        free = self.limit[dimension] - self.usage.allocated[dimension]
        return free if self.reserve is None else free - self.kept_from(dimension, member)

    def origin(self, dimension: int, limit: int) -> QueueShare:
        """Return the queue whose capability is this limit of the queue: itself, or the nearest ancestor."""
        stated = (each for each in self.chain if dict(each.queue.capability).get(dimension) == limit)
        return next(stated, self)

    def kept_from(self, dimension: int, member: QueueShare) -> int:
        """Return the amount reserved for guarantees of other members."""
        return 0 if self.reserve is None or member is self else self.reserve.kept_from(member, dimension)

    def reserved(self, minimum: Request) -> list[tuple[int, int]]:
        """Return the admitted amounts plus `minimum`: allocated and inqueue, less the elastic part of jobs."""
        usage = self.usage
        return [
            (d, amount + usage.allocated[d] + usage.inqueue[d] - usage.elastic[d]) for d, amount in minimum if d != PODS
        ]


class Reserve:
    """The unused part of the guarantees of queues that share a limit.

    Only queues that changed are evaluated again.
    """

    def __init__(self, queue_shares: Iterable[QueueShare], size: int) -> None:
        self._parts: dict[str, Amounts] = {}
        self._sums = [0] * size
        self._changed = {queue_share.name: queue_share for queue_share in queue_shares}

    def changed(self, queue_share: QueueShare) -> None:
        """Record that the use of a queue changed."""
        if queue_share.guaranteed:
            self._changed[queue_share.name] = queue_share

    def kept_from(self, queue_share: QueueShare, dimension: int) -> int:
        """Return the amount reserved for the other queues."""
        if self._changed:
            self._catch_up()
        own = self._parts.get(queue_share.name)
        return self._sums[dimension] - (own[dimension] if own else 0)

    def _catch_up(self) -> None:
        for queue_share in self._changed.values():
            part = exceeding(queue_share.guarantee, queue_share.usage.allocated)
            subtract_amounts(self._sums, self._parts.get(queue_share.name, ()))
            add_amounts(self._sums, part)
            self._parts[queue_share.name] = part
        self._changed.clear()
