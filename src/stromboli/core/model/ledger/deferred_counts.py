"""Pods that count for very many terms: a tally adds them when it is read.

Terms that select every pod make each placement count in every tally, of which hardly any is read again. So placements
are kept by the set of tallies that they feed. A tally that was never read adds the sum of each set at once; one that is
read again adds the placements since. Terms that pods own are theirs alone, and would make a set of each class: they are
counted at once, unless a pod owns many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.tasks.pod_terms import TermRegistry
from stromboli.core.model.tasks.task_class import TaskClass

Tally = NDArray[np.int32]

#: From this number of pods on, a set has a sum for all nodes.
_MANY_PODS = 32
#: A pod that owns more terms than this is kept with them.
_MANY_OWNED = 16


class DeferredCounts:
    """Placements in their order, and their sums by the set of tallies that they feed."""

    __slots__ = ("_caught_up", "_entries", "_feed_sets", "_split", "_sums", "_terms")

    def __init__(self, terms: TermRegistry) -> None:
        self._terms = terms
        self._entries: list[tuple[frozenset[int], Sequence[int], int]] = []
        self._feed_sets: dict[frozenset[int], frozenset[int]] = {}
        #: By class: the set of tallies that its pods are kept with, and the rest.
        self._split: dict[TaskClass, tuple[frozenset[int], tuple[int, ...]]] = {}
        self._sums: dict[tuple[frozenset[int], int], _FeedSum] = {}
        #: By tally, the number of entries that it contains.
        self._caught_up: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._entries)

    @property
    def numbers(self) -> frozenset[int]:
        """The tallies that any placement feeds."""
        return frozenset[int]().union(*self._feed_sets)

    def add(self, task_class: TaskClass, rows: Sequence[int], step: int) -> tuple[int, ...]:
        """Keep pods; return the tallies that have to be changed at once."""
        split = self._split.get(task_class)
        if split is None:
            split = self._split[task_class] = self._parts(task_class.feeds)
        kept, rest = split
        self._entries.append((kept, rows, step))
        found = self._sums.get((kept, step))
        if found is None:
            found = self._sums[kept, step] = _FeedSum()
        found.rows.extend(rows)
        return rest

    def _parts(self, feeds: tuple[int, ...]) -> tuple[frozenset[int], tuple[int, ...]]:
        fed = frozenset(feeds)
        rest = fed & self._terms.owned
        if len(rest) > _MANY_OWNED:
            rest = frozenset()
        kept = fed - rest
        return self._feed_sets.setdefault(kept, kept), tuple(sorted(rest))

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

    def _add_sums(self, number: int, column: Callable[[int], Tally]) -> None:
        sums = [(found, step) for (feeds, step), found in self._sums.items() if number in feeds]
        if sums:
            tally = column(number)
            for found, step in sums:
                found.add_to(tally, step)


class _FeedSum:
    """The rows of all pods that feed the same tallies, and their number on every node."""

    __slots__ = ("_counted", "_sum", "rows")

    def __init__(self) -> None:
        self.rows: list[int] = []
        self._counted = 0
        self._sum: NDArray[np.int64] | None = None

    def add_to(self, column: Tally, step: int) -> None:
        if len(self.rows) < _MANY_PODS:
            _add_rows(column, self.rows, step)
            return
        if self._sum is None or self._counted < len(self.rows):
            new = np.bincount(self.rows[self._counted :], minlength=len(column))
            self._sum = new if self._sum is None else self._sum + new
            self._counted = len(self.rows)
        column += step * self._sum


def _add_rows(column: Tally, rows: Sequence[int], step: int) -> None:
    for row in rows:
        column[row] += step
