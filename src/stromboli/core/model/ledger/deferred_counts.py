"""Pods that count for very many terms: a tally adds them when it is read.

Terms that select every pod make each placement count in every tally, of which hardly any is read again. So placements
are kept by the set of tallies that they feed. A tally that was never read adds the sum of each set at once, by node or
only by domain; one that is read again adds the placements since. Terms that pods own are theirs alone, and would make a
set of each class: they are counted at once, unless a pod owns many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.nodes.table import Index, Vector
from stromboli.core.model.tasks.pod_terms import TermRegistry
from stromboli.core.model.tasks.task_class import TaskClass

Tally = NDArray[np.int32]

#: From this number of pods on, a set has a sum for all nodes.
_MANY_PODS = 32
#: Up to this number, pods are added one by one.
_FEW_PODS = 16


class DeferredCounts:
    """Placements in their order, and their sums by the set of tallies that they feed."""

    __slots__ = ("_caught_up", "_entries", "_sums", "_terms")

    def __init__(self, terms: TermRegistry) -> None:
        self._terms = terms
        self._entries: list[tuple[frozenset[int], Sequence[int], int]] = []
        self._sums: dict[tuple[frozenset[int], int], FeedSum] = {}
        #: By tally, the number of entries that it contains.
        self._caught_up: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._entries)

    @property
    def numbers(self) -> frozenset[int]:
        """The tallies that any placement feeds."""
        return frozenset[int]().union(*(feeds for feeds, _ in self._sums))

    def add(self, task_class: TaskClass, rows: Sequence[int], step: int) -> tuple[int, ...]:
        """Keep pods; return the tallies that have to be changed at once."""
        kept, rest = self._terms.feeds_of(task_class)
        self._entries.append((kept, rows, step))
        found = self._sums.get((kept, step))
        if found is None:
            found = self._sums[kept, step] = FeedSum()
        found.rows.extend(rows)
        return rest

    def catch_up(self, number: int, column: Callable[[int], Tally]) -> None:
        """Add the placements to a tally that were made since it was read; `column` returns it, writable."""
        start = self._caught_up.get(number)
        if start is None:
            self._add_sums(number, column)
        else:
            for feeds, rows, step in self._entries[start:]:
                if number in feeds:
                    _add_rows(column(number), rows, step)
        self._caught_up[number] = len(self._entries)

    def outside_of(self, number: int) -> list[tuple[FeedSum, int]] | None:
        """Return the sums that a tally that was never read lacks, each with its step; None for one that was read."""
        return None if number in self._caught_up else self._sums_of(number)

    def _sums_of(self, number: int) -> list[tuple[FeedSum, int]]:
        return [(found, step) for (feeds, step), found in self._sums.items() if number in feeds]

    def _add_sums(self, number: int, column: Callable[[int], Tally]) -> None:
        sums = self._sums_of(number)
        if sums:
            tally = column(number)
            for found, step in sums:
                found.add_to(tally, step)


class FeedSum:
    """The rows of all pods that feed the same tallies, and their number on every node and in every domain."""

    __slots__ = ("_counted", "_domains", "_sum", "rows")

    def __init__(self) -> None:
        self.rows: list[int] = []
        self._counted = 0
        self._sum: NDArray[np.int64] | None = None
        #: By the identity of the domains: the domain of each node, the number of pods in each, and of counted rows.
        self._domains: dict[int, tuple[Index, Vector, int]] = {}

    def by_domain(self, places: Index, size: int) -> Vector:
        """Return the number of pods in each of `size` domains, given that of every node. It must not be changed."""
        _, totals, counted = self._domains.get(id(places)) or (places, np.zeros(size), 0)
        for place in places[self.rows[counted:]].tolist():
            totals[place] += 1
        self._domains[id(places)] = places, totals, len(self.rows)
        return totals

    def add_to(self, column: Tally, step: int) -> None:
        if len(self.rows) < _MANY_PODS:
            _add_rows(column, self.rows, step)
            return
        new = self.rows[self._counted :]
        if self._sum is None:
            self._sum = np.bincount(new, minlength=len(column))
        elif len(new) <= _FEW_PODS:
            for row in new:
                self._sum[row] += 1
        else:
            self._sum += np.bincount(new, minlength=len(column))
        self._counted = len(self.rows)
        column += self._sum if step == 1 else step * self._sum


def _add_rows(column: Tally, rows: Sequence[int], step: int) -> None:
    for row in rows:
        column[row] += step
