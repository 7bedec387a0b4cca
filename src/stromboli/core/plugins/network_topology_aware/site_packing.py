"""Scores of sites for jobs without a topology: fuller domains first, lower tiers weigh more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, Vector
from stromboli.core.model.resources.resources import Request
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.plugins.network_topology_aware.class_scorer import ClassScorer
from stromboli.core.plugins.network_topology_aware.site_use import SiteUse
from stromboli.core.search.node_rules import SiteScorer


@lru_cache(maxsize=256)
def _numbers(copies: int) -> Index:
    """Return 0, 1, ... copies - 1."""
    return np.arange(copies, dtype=np.int64)


class SitePacking:
    """The scores of sites for one request, with the copies that are placed in one step.

    The score of a site is that by what is used there and what the request adds; a domain that the request exceeds
    counts as empty. On nodes with capacity for the request that is the case in doubtful domains only.
    """

    def __init__(self, use: SiteUse, amounts: Sequence[int]) -> None:
        self.sites = use.sites
        self._use = use
        self._amounts = amounts
        self._fractions = use.fractions_of(amounts)
        #: By site, what the request adds to the score.
        self._own = use.scores(self._fractions[self.sites.domains], 0.0)
        #: By domain, the copies placed in this step.
        self._placed: dict[int, int] = {}

    def now(self) -> Vector:
        self._placed.clear()
        points = self._use.now() + self._own
        if self._use.doubtful:
            exceeded = {domain for domain in self._use.doubtful if self._exceeds(domain, 0)}
            for site, domains in enumerate(self.sites.by_tier if exceeded else ()):
                if not exceeded.isdisjoint(domains):
                    points[site] = self.of_one(site, 0)
        return points

    def of_one(self, site: int, copies: int) -> float:
        return self._score(site, dict.fromkeys(self.sites.around[site], copies))

    def _score(self, site: int, more: Mapping[int, int]) -> float:
        """Return the score of a site after so many more copies in domains."""
        use, placed, domains = self._use, self._placed, self.sites.by_tier[site]
        numbers = [placed.get(each, 0) + more.get(each, 0) for each in domains]
        pairs = [*zip(domains, numbers, strict=True)]
        fractions = [
            use.fraction_with(domain, [amount * number for amount in self._amounts]) if domain >= 0 else 1.0
            for domain, number in pairs
        ]
        if use.doubtful and any(domain in use.doubtful and self._exceeds(domain, number) for domain, number in pairs):
            for tier, (domain, number) in enumerate(pairs):
                if domain >= 0:
                    with_one = fractions[tier] + self._fractions.item(domain)
                    fractions[tier] = 0.0 if self._exceeds(domain, number) else with_one
            return use.score(fractions)
        return use.score(fractions) + self._own.item(site)

    def _exceeds(self, domain: int, copies: int) -> bool:
        """Report whether the request exceeds a domain after so many copies."""
        pairs = zip(self._use.idle, self._amounts, strict=True)
        return any(idle[domain] < amount * (copies + 1) for idle, amount in pairs)

    def with_copies(self, site: int, copies: int) -> Vector:
        nearby, use = self.sites.nearby(site), self._use
        before = np.zeros(self.sites.number_of_domains, dtype=np.int64)
        for domain, number in self._placed.items():
            before[domain] = number
        counted = before[nearby.domains] + nearby.is_around * _numbers(copies)
        fractions = use.fractions_with(nearby.domains, [amount * counted for amount in self._amounts])
        points = use.scores(fractions, 1.0, nearby.domains) + self._own[nearby.sites, None]
        if use.doubtful:
            around = self.sites.around[site]
            for place, other in enumerate(nearby.sites.tolist()):
                if not use.doubtful.isdisjoint(self.sites.by_tier[other]):
                    points[place] = [self._score(other, dict.fromkeys(around, number)) for number in range(copies)]
        return points

    def only_grows(self, site: int, copies: int) -> bool:
        doubtful, placed = self._use.doubtful, self._placed
        return self.sites.is_plain[site] and not (
            doubtful
            and any(
                each in doubtful and self._exceeds(each, copies + placed.get(each, 0))
                for each in self.sites.around[site]
            )
        )

    def add(self, site: int, copies: int) -> None:
        for domain in self.sites.around[site]:
            self._placed[domain] = self._placed.get(domain, 0) + copies


class SitePackings:
    """The scores of sites in one network."""

    def __init__(
        self, tree: HyperNodeTree, ledger: Ledger, weights: Mapping[int, int], tier_weights: Sequence[float], top: float
    ) -> None:
        self._tree = tree
        self._ledger = ledger
        self._weights = weights
        self._tier_weights = tier_weights
        self._top = top
        #: By the resources that count.
        self._use: dict[tuple[int, ...], SiteUse] = {}

    def of(self, request: Request) -> SitePacking:
        counted = {dimension: amount for dimension, amount in request if dimension in self._weights}
        known = self._use.get(key := tuple(counted))
        if known is None:
            weights = {dimension: self._weights[dimension] for dimension in key}
            known = SiteUse(self._tree, self._ledger, weights, self._tier_weights, self._top)
            self._use[key] = known
        return SitePacking(known, list(counted.values()))


class SitePackingScorer(ClassScorer, SiteScorer):
    """Scores the nodes of classes with tasks of jobs without a topology."""

    def __init__(self, is_normal: Callable[[Task], bool], packing_for: Callable[[TaskClass], SitePacking]) -> None:
        self._is_normal = is_normal
        self._packing_for = packing_for

    def is_by_site(self, task: Task) -> bool:
        return self._is_normal(task)

    def by_site(self, task_class: TaskClass) -> SitePacking:
        return self._packing_for(task_class)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        task = self.current_task
        if task is None or not self._is_normal(task):
            return np.zeros(len(rows))
        packing = self._packing_for(task_class)
        return packing.now()[packing.sites.of_node]
