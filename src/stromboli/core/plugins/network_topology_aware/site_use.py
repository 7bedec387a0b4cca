"""How full sites are: shared by all requests for the same resources, and updated with the nodes that change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.nodes.table import Index, Vector
from stromboli.core.model.topology.hypernodes import HyperNodeTree


class SiteUse:
    """The scores of sites by the used fractions of some resources; lower tiers weigh more.

    A gang changes few sites, and for these plain numbers are faster than columns. Both are equal to the last bit.
    """

    def __init__(
        self, tree: HyperNodeTree, ledger: Ledger, weights: Mapping[int, int], tier_weights: Sequence[float], top: float
    ) -> None:
        """`weights` are those of resources, `top` is the score of a full site."""
        self.sites = sites = tree.sites
        self._tree = tree
        self._log = ledger.log
        self._tier_weights = tier_weights
        self._all_tiers = sum(tier_weights)
        self._top = top
        self._weights = list(weights.values())
        self._all_weights = sum(self._weights) or 1
        self._idle_of_nodes = [ledger.amounts[dimension] for dimension in weights]
        self._capacities = [tree.sums(ledger.all_rows.allocatable(dimension)) for dimension in weights]
        self._divisors = [np.maximum(each, 1).astype(np.float64) for each in self._capacities]
        #: Capacities and divisors as plain numbers.
        self._plain = [(a.tolist(), b.tolist()) for a, b in zip(self._capacities, self._divisors, strict=True)]
        #: With more changed sites than this, all are evaluated.
        self._few = len(sites) // 4
        #: Domains with nodes on which more is used than there is: only there a node may have a request idle that is
        #: more than the sum of the idle amounts of the domain.
        self.doubtful: Set[int] = {
            domain
            for idle in self._idle_of_nodes
            for row in (idle < 0).nonzero()[0].tolist()
            for domain in sites.around[sites.site_of[row]]
        }
        #: The scores of sites, and the position in the log of changes up to which they are valid.
        self._points = self._sum_up()
        self._fresh = self._log.position

    def now(self) -> Vector:
        """Return the score of each site. Read-only, and valid until the next operation."""
        log = self._log
        if log.position != self._fresh:
            changed = set(map(self.sites.site_of.__getitem__, log.since(self._fresh).tolist()))
            self._points = self._update(changed) if len(changed) <= self._few else self._sum_up()
            self._fresh = log.position
        return self._points

    def _sum_up(self) -> Vector:
        sites = self.sites
        #: By resource, the idle amounts by domain; and fast access to single entries of the same memory.
        self._idle = [self._tree.sums(each) for each in self._idle_of_nodes]
        self.idle: Sequence[Any] = [memoryview(each) for each in self._idle]  # type: ignore[arg-type]
        of_sites = [np.add.reduceat(each[sites.order], sites.starts).tolist() for each in self._idle_of_nodes]
        #: By resource, the idle amounts by node, by domain and by site.
        self._idle_amounts = list(zip(self._idle_of_nodes, self.idle, of_sites, strict=True))
        used = [capacity - idle for capacity, idle in zip(self._capacities, self._idle, strict=True)]
        self._fractions = self._mean(used, self._divisors)
        return self.scores(self._fractions[sites.domains], 1.0)

    def _update(self, changed: Set[int]) -> Vector:
        sites, nothing = self.sites, [0] * len(self._weights)
        for site in changed:
            around = sites.around[site]
            for of_nodes, of_domains, of_sites in self._idle_amounts:
                now = int(np.add.reduce(sites.part_of(of_nodes, site)))
                more, of_sites[site] = now - of_sites[site], now
                for domain in around:
                    of_domains[domain] += more
            for domain in around:
                self._fractions[domain] = self.fraction_with(domain, nothing)
        if not all(map(sites.is_alone, changed)):
            return self.scores(self._fractions[sites.domains], 1.0)
        for site in changed:
            self._points[site] = self.score([self._fraction_of(each) for each in sites.by_tier[site]])
        return self._points

    def _fraction_of(self, domain: int) -> float:
        """Return the fraction of a domain; a tier without one counts as full."""
        return self._fractions.item(domain) if domain >= 0 else 1.0

    # -- fractions of domains: the weighted mean over resources ---------------------------------------------------

    def fraction_with(self, domain: int, more: Sequence[int]) -> float:
        """Return the used fraction of a domain with these amounts more."""
        total = 0.0
        terms = zip(self._weights, self._plain, self.idle, more, strict=True)
        for weight, (capacity, divisor), idle, amount in terms:
            total += float(weight * (capacity[domain] - idle[domain] + amount)) / divisor[domain]
        return total / self._all_weights

    def fractions_with(self, domains: Index, more: Sequence[Amount]) -> Vector:
        """Return the same for an array of domains."""
        terms = zip(self._capacities, self._idle, more, strict=True)
        used = [(capacity - idle)[domains] + amounts for capacity, idle, amounts in terms]
        return self._mean(used, [divisors[domains] for divisors in self._divisors]) if used else np.zeros(domains.shape)

    def fractions_of(self, amounts: Sequence[int]) -> Vector:
        """Return which fraction of each domain these amounts are."""
        return self._mean([np.array(amount) for amount in amounts], self._divisors)

    def _mean(self, amounts: Sequence[Amount], divisors: Sequence[Vector]) -> Vector:
        total: Vector | None = None
        for weight, part, divisor in zip(self._weights, amounts, divisors, strict=True):
            total = weight * part / divisor if total is None else total + weight * part / divisor
        return np.zeros(self.sites.number_of_domains) if total is None else total / self._all_weights

    # -- scores of sites: the weighted mean over tiers -----------------------------------------------------------

    def score(self, fractions: Sequence[float]) -> float:
        """Return the score of a site with these fractions by tier."""
        total = 0.0
        for weight, fraction in zip(self._tier_weights, fractions, strict=True):
            total += weight * fraction
        return total / self._all_tiers * self._top

    def scores(self, fractions: Vector, missing: float, domains: Index | None = None) -> Vector:
        """Return the same for an array of fractions, with another fraction for tiers in which a site has no domain."""
        if not self.sites.is_complete:
            fractions = np.where((self.sites.domains if domains is None else domains) >= 0, fractions, missing)
        total: Vector = self._tier_weights[0] * fractions[0]
        for weight, part in zip(self._tier_weights[1:], fractions[1:], strict=True):
            total += weight * part
        total /= self._all_tiers
        total *= self._top
        return total
