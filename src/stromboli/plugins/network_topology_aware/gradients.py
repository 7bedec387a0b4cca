"""Which domains are tried for a job or a sub-job, and in what order: the closest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from stromboli.framework.plugin import Domain
from stromboli.model.hypernodes import HyperNodeTree
from stromboli.model.ledger import Ledger
from stromboli.model.resources import Request
from stromboli.model.task import ALLOCATED_STATUSES, Task

_PLACED = frozenset(status.value for status in ALLOCATED_STATUSES)


class Gradients:
    """Groups of domains of one tier each, for one cycle."""

    def __init__(self, tree: HyperNodeTree, ledger: Ledger) -> None:
        self._tree = tree
        self._ledger = ledger
        self._domains: dict[int, Domain] = {}
        self._groups: dict[tuple[int, int], list[list[int]]] = {}

    def domain(self, place: int) -> Domain:
        known = self._domains.get(place)
        if known is None:
            tree = self._tree
            inside = None if place == tree.top else tree.inside(place)
            known = self._domains[place] = Domain(tree.name(place), tree.tiers[place], inside)
        return known

    def place_of(self, domain: Domain) -> int:
        return self._tree.index.get(domain.name, self._tree.top)

    def home_of(self, tasks: Iterable[Task]) -> int | None:
        """The smallest domain around what tasks have already; None when they have nothing."""
        ledger = self._ledger
        rows = {ledger.row_of(task) for task in tasks if ledger.codes[task.row] in _PLACED}
        rows.discard(-1)
        return self._tree.around_nodes(rows) if rows else None

    def groups(
        self, root: Domain, allowed: int, home: int | None, minimum: Request | None
    ) -> Sequence[Sequence[Domain]]:
        """The domains inside `root` up to the allowed tier. Who has a home stays as near to it as allowed; who has none
        looks at domains that have as much as it needs at least.
        """
        start = self._start(self.place_of(root), allowed, home)
        if start is None:
            return []
        groups = self._by_tier(start, allowed)
        if home is None and minimum:
            enough = self._have(minimum)
            groups = [[place for place in group if enough[place]] for group in groups]
        return [[self.domain(place) for place in group] for group in groups if group]

    def _start(self, root: int, allowed: int, home: int | None) -> int | None:
        """Where to begin: at the root, or at the highest domain around the home that is allowed, if it is inside."""
        if home is None:
            return root
        tree = self._tree
        permitted = [place for place in tree.around[home] if tree.tiers[place] <= allowed]
        if not permitted:
            return None
        highest = permitted[-1]
        if root in tree.around[highest]:
            return highest
        return root if highest in tree.around[root] else None

    def _by_tier(self, start: int, allowed: int) -> list[list[int]]:
        known = self._groups.get((start, allowed))
        if known is None:
            tiers: dict[int, list[int]] = {}
            for place in self._tree.within(start):
                if self._tree.tiers[place] <= allowed and len(self._tree.rows(place)):
                    tiers.setdefault(self._tree.tiers[place], []).append(place)
            known = self._groups[start, allowed] = [tiers[tier] for tier in sorted(tiers)]
        return known

    def _have(self, minimum: Request) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which domains have this much in sum, now or once everything that is being released is gone."""
        rows, tree = self._ledger.all_rows, self._tree
        now = np.ones(len(tree.hyper_nodes), dtype=np.bool_)
        later = now.copy()
        for dimension, amount in minimum:
            now &= tree.sums(rows.idle(dimension)) >= amount
            later &= tree.sums(rows.future_idle(dimension)) >= amount
        return now | later
