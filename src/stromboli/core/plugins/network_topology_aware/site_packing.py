"""Scores of sites for jobs without a topology: fuller domains first, lower tiers weigh more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, Vector
from stromboli.core.model.resources.resources import Request
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.topology.sites import Sites
from stromboli.core.plugins.network_topology_aware.class_scorer import ClassScorer
from stromboli.core.plugins.network_topology_aware.packing import DomainPacking
from stromboli.core.search.node_rules import SiteScorer


@lru_cache(maxsize=256)
def _numbers(copies: int) -> Index:
    """Return 0, 1, ... copies - 1."""
    return np.arange(copies, dtype=np.int64)


class SitePacking:
    """The scores of sites for one request, with the copies that are placed in one step."""

    def __init__(
        self, packing: DomainPacking, sites: Sites, request: Request, weights: Sequence[float], top: float
    ) -> None:
        self.sites = sites
        self._packing = packing
        self._request = request
        self._weights = weights
        self._top = top
        self._whole = sum(weights)
        #: By domain, 1 and the copies placed so far.
        self._copies = np.ones(sites.number_of_domains, dtype=np.int64)

    def now(self) -> Vector:
        packed = self._packing.scores(self._request, self._copies)
        return self._total(self.sites.domains, [packed[domains] for domains in self.sites.domains])

    def with_copies(self, site: int, copies: int) -> Vector:
        nearby = self.sites.nearby(site)
        counted = self._copies[nearby.domains] + nearby.is_around * _numbers(copies)
        return self._total(nearby.domains, self._packing.scores(self._request, counted, nearby.domains))

    def only_grows(self, site: int, copies: int) -> bool:
        nearby = self.sites.nearby(site)
        return len(nearby.sites) == 1 and all(
            self._packing.has_idle(self._request, domain, int(self._copies[domain]) + copies)
            for domain in nearby.domains.ravel().tolist()
            if domain >= 0
        )

    def _total(self, domains: Index, packed: Sequence[Vector] | Vector) -> Vector:
        """Return the weighted mean of the tiers; a tier without a domain counts as full."""
        parts = [
            weight * (fractions if self.sites.is_complete else np.where(places >= 0, fractions, 1.0))
            for weight, places, fractions in zip(self._weights, domains, packed, strict=True)
        ]
        total: Vector = parts[0]
        for part in parts[1:]:
            total += part
        total /= self._whole
        total *= self._top
        return total

    def add(self, site: int, copies: int) -> None:
        self._copies[self.sites.around[site]] += copies


class SitePackingScorer(ClassScorer, SiteScorer):
    """Scores the nodes of classes with tasks of jobs without a topology."""

    def __init__(self, packing_for: Callable[[Task], SitePacking | None]) -> None:
        self._packing_for = packing_for

    def by_site(self, task: Task) -> SitePacking | None:
        return self._packing_for(task)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        task = self.current_task
        packing = self._packing_for(task) if task is not None else None
        return np.zeros(len(rows)) if packing is None else packing.now()[packing.sites.of_node]
