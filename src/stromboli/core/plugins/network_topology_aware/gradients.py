"""The domains to try for a job or a sub-job, in order: the closest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import and_

import numpy as np

from stromboli.core.config.plugin import Domain
from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.nodes.table import Index, Mask
from stromboli.core.model.resources.resources import Request
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.plugins.network_topology_aware.constraints import Reach
from stromboli.core.plugins.network_topology_aware.packing import DomainAmounts
from stromboli.core.topology.domain_group import DomainGroup, group_of


class Gradients:
    """Groups of domains of one tier each, for one cycle."""

    def __init__(self, tree: HyperNodeTree, amounts: DomainAmounts) -> None:
        self._tree = tree
        self._amounts = amounts
        self._domains: dict[int, Domain] = {}
        self._groups: dict[tuple[int, int, int], list[DomainGroup]] = {}

    def domain(self, place: int) -> Domain:
        known = self._domains.get(place)
        if known is None:
            tree = self._tree
            inside = None if place == tree.top else tree.inside(place)
            known = self._domains[place] = Domain(tree.name(place), tree.tiers[place], inside, place, tree)
        return known

    def place_of(self, domain: Domain) -> int:
        return self._tree.top if domain.place is None else domain.place

    def places_of(self, domains: Iterable[Domain]) -> Index:
        return np.array([self.place_of(domain) for domain in domains], dtype=np.int64)

    def groups(
        self, root: Domain, reach: Reach, own_domain: int | None, minimum: Request | None
    ) -> Sequence[DomainGroup]:
        """Return the domains inside `root` within reach. A job with running tasks stays as near to them as allowed;
        others get domains with at least the requested amounts.
        """
        start = self._start(self.place_of(root), reach.highest, own_domain)
        if start is None:
            return []
        groups = self._by_tier(start, min(reach.first, self._tree.tiers[start]), reach.highest)
        if own_domain is not None or not minimum or root.evictions_allowed_inside:
            return groups
        enough = self._have(minimum)
        return groups if enough.all() else [left for group in groups if (left := group.where(enough))]

    def _start(self, root: int, allowed: int, own_domain: int | None) -> int | None:
        """Return the domain to start at: the root, or the highest allowed domain around the job's own inside it."""
        if own_domain is None:
            return root
        tree = self._tree
        permitted = [place for place in tree.around[own_domain] if tree.tiers[place] <= allowed]
        if not permitted:
            return None
        highest = permitted[-1]
        if root in tree.around[highest]:
            return highest
        return root if highest in tree.around[root] else None

    def _by_tier(self, start: int, first: int, highest: int) -> list[DomainGroup]:
        known = self._groups.get((start, first, highest))
        if known is None:
            tiers: dict[int, list[Domain]] = {}
            for place in self._tree.within(start):
                if first <= self._tree.tiers[place] <= highest and len(self._tree.rows(place)):
                    tiers.setdefault(self._tree.tiers[place], []).append(self.domain(place))
            known = self._groups[start, first, highest] = [group_of(tiers[tier]) for tier in sorted(tiers)]
        return known

    def _have(self, minimum: Request) -> Mask:
        """Return which domains have this much in total, now or after all releases are finished."""
        now = _have_enough(minimum, self._amounts.idle)
        return now if now.all() else now | _have_enough(minimum, self._amounts.later)


def _have_enough(minimum: Request, sums: Callable[[int], Amount]) -> Mask:
    return reduce(and_, (sums(dimension) >= amount for dimension, amount in minimum))
