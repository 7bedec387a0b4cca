"""An arrangement of tasks on nodes, found by branch and bound within a number of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Amounts = Sequence[int]


@dataclass(slots=True)
class PackingItem:
    """A task to place: what it requests, and the places on which it may be."""

    request: Amounts
    allowed: Sequence[int]


class TaskPacking:
    """Places items on nodes, the largest first. `steps_left` limits the work."""

    def __init__(self, free: Sequence[Amounts], items: Sequence[PackingItem], steps: int) -> None:
        self._free = [tuple(amounts) for amounts in free]
        #: Nodes on which the same items may be are interchangeable.
        self._kinds = [tuple(place in item.allowed for item in items) for place in range(len(free))]
        self._totals = [max(1, sum(column)) for column in zip(*free, strict=True)]
        self._items = items
        self._order = sorted(range(len(items)), key=lambda number: self._size(items[number]))
        self._places = [-1] * len(items)
        self.steps_left = steps

    def _size(self, item: PackingItem) -> tuple[object, ...]:
        """The largest part of the cluster that the item requests; equal items follow each other."""
        parts = [amount / total for amount, total in zip(item.request, self._totals, strict=True)]
        return -max(parts), -sum(parts), tuple(item.request), tuple(item.allowed)

    def find(self) -> list[int] | None:
        """Return a place for every item; None if there is none, or if the steps do not suffice."""
        wanted = [sum(column) for column in zip(*(item.request for item in self._items), strict=True)]
        has = [sum(column) for column in zip(*self._free, strict=True)]
        if any(amount > total for amount, total in zip(wanted, has, strict=True)):
            return None
        return self._places if self._place(0, 0) else None

    def _place(self, done: int, first: int) -> bool:
        """Place the items after the first `done`: one that equals the one before on no earlier node than that, and of
        interchangeable nodes only on the first.
        """
        if done == len(self._order):
            return True
        item, free, tried = self._items[self._order[done]], self._free, set[tuple[object, ...]]()
        is_same = done + 1 < len(self._order) and self._are_equal(done)
        for position in range(first, len(item.allowed)):
            place = item.allowed[position]
            before = free[place]
            left = tuple(has - amount for has, amount in zip(before, item.request, strict=True))
            if min(left) < 0 or (before, self._kinds[place]) in tried:
                continue
            self.steps_left -= 1
            if self.steps_left < 0:
                return False
            tried.add((before, self._kinds[place]))
            free[place] = left
            self._places[self._order[done]] = place
            if self._place(done + 1, position if is_same else 0):
                return True
            free[place] = before
        return False

    def _are_equal(self, done: int) -> bool:
        one, next_one = self._items[self._order[done]], self._items[self._order[done + 1]]
        return one.request == next_one.request and one.allowed == next_one.allowed
