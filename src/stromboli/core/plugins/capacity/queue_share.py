"""How one queue stands in a cycle: what it is promised, what it may have, and who is above it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from stromboli.core.model.queues.queue import Queue, QueueUsage
from stromboli.core.model.reasons import Reason
from stromboli.core.model.resources.resources import PODS, Amounts, Request, add_amounts, exceeding, subtract_amounts


@dataclass(slots=True, eq=False)
class Standing:
    """What it uses is read from the ledger, with what the queues below it use."""

    queue: Queue
    books: QueueUsage
    guarantee: Amounts
    deserved: Amounts
    limit: Amounts
    ceiling: Amounts
    title: str = ""
    #: Why it takes nothing at all, if it does not.
    refusal: Reason | None = None
    #: Whether it has no place in the tree, so that nobody knows what it should have.
    is_detached: bool = False
    #: This queue and those above it, without the root.
    chain: tuple[Standing, ...] = ()
    #: Whose limits hold for it, each with the member of theirs that leads to it.
    steps: tuple[tuple[Standing, Standing], ...] = ()
    #: What the guarantees of its members keep free; None if they have none.
    reserve: Reserve | None = None
    #: What it deserves, without what it deserves nothing of.
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
        """The largest part of what it deserves that it has already. One that deserves nothing has its share."""
        if not self.parts:
            return 1.0
        allocated, share = self.books.allocated, 0.0
        for dimension, amount in self.parts:
            part = allocated[dimension] / amount
            if part > share:
                share = part
        return share

    def deserves_any(self, request: Request) -> bool:
        """Whether it deserves anything of what is asked for; everybody asks for a pod's place."""
        return any(self.deserved[dimension] for dimension, _ in request if dimension != PODS)

    def exceeds(self, holding: Sequence[int], request: Request) -> bool:
        """Whether, holding so much, it has more than it deserves of something that is asked for."""
        return any(0 < self.deserved[d] < holding[d] for d, _ in request if d != PODS)

    def still_deserves(self, wanted: Request) -> bool:
        """Whether, with so much more, it has no more than it deserves of what it deserves any of."""
        allocated, deserved = self.books.allocated, self.deserved
        return self.deserves_any(wanted) and not any(
            0 < deserved[d] < allocated[d] + amount for d, amount in wanted if d != PODS
        )

    def free(self, dimension: int, member: Standing) -> int:
        """How much more of a resource may go to a member."""
        free = self.limit[dimension] - self.books.allocated[dimension]
        return free if self.reserve is None else free - self.kept_from(dimension, member)

    def kept_from(self, dimension: int, member: Standing) -> int:
        """How much is kept free for guarantees of other members."""
        return 0 if self.reserve is None or member is self else self.reserve.kept_from(member, dimension)

    def promised(self, minimum: Request) -> list[tuple[int, int]]:
        """What it has let in, with so much more: held or promised, less what jobs hold above their minimum."""
        books = self.books
        return [
            (d, amount + books.allocated[d] + books.inqueue[d] - books.elastic[d]) for d, amount in minimum if d != PODS
        ]


class Reserve:
    """What is kept free for the guarantees of queues that share a room: the part of them that is not in use.

    Only queues of which something changed are looked at again.
    """

    def __init__(self, queue_shares: Iterable[Standing], size: int) -> None:
        self._parts: dict[str, Amounts] = {}
        self._sums = [0] * size
        self._changed = {standing.name: standing for standing in queue_shares}

    def changed(self, standing: Standing) -> None:
        """The queue was given something, or lost it."""
        if standing.guaranteed:
            self._changed[standing.name] = standing

    def kept_from(self, standing: Standing, dimension: int) -> int:
        """How much is kept free for the others."""
        if self._changed:
            self._catch_up()
        own = self._parts.get(standing.name)
        return self._sums[dimension] - (own[dimension] if own else 0)

    def _catch_up(self) -> None:
        for standing in self._changed.values():
            part = exceeding(standing.guarantee, standing.books.allocated)
            subtract_amounts(self._sums, self._parts.get(standing.name, ()))
            add_amounts(self._sums, part)
            self._parts[standing.name] = part
        self._changed.clear()
