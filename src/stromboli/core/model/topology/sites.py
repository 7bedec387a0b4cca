"""Sites: sets of nodes that are in the same domains. What depends on domains alone is computed once per site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.nodes.table import Index, Mask


class Nearby(NamedTuple):
    """The sites with a domain that contains nodes of one site, that site first."""

    sites: Index
    #: By tier and these sites, the domain, in arrays of one entry; -1 for none.
    domains: NDArray[np.int64]
    #: Whether that domain contains the one site, of the same shape.
    is_around: Mask


class Sites:
    """The sites of a tree of domains, in the order of their first nodes."""

    def __init__(self, domains_of: Sequence[Sequence[int]], at_tier: Mapping[int, Index]) -> None:
        numbers: dict[tuple[int, ...], int] = {}
        found = [numbers.setdefault(tuple(domains), len(numbers)) for domains in domains_of]
        #: The site of each node.
        self.of_node: Index = np.array(found, dtype=np.int64)
        self.number_of_domains = max((max(domains) for domains in numbers), default=-1) + 1
        #: The nodes, site after site and in index order inside each; and where each site starts.
        self.order: Index = self.of_node.argsort(kind="stable")
        self.starts: Index = np.searchsorted(self.of_node[self.order], np.arange(len(numbers)))
        self.tiers: Sequence[int] = list(at_tier)
        first = self.order[self.starts] if numbers else self.order
        #: By tier and site, the domain; -1 for none.
        self.domains: NDArray[np.int64] = np.array(
            [domains[first] for domains in at_tier.values()], dtype=np.int64
        ).reshape(len(at_tier), len(numbers))
        scored = set(self.domains.ravel().tolist())
        #: All domains of these tiers that contain the nodes of a site.
        self.around: Sequence[list[int]] = [[each for each in domains if each in scored] for domains in numbers]
        #: By site, its domain of each tier; -1 for none.
        self.by_tier: Sequence[list[int]] = self.domains.T.tolist()
        #: By site, whether no two domains of a tier contain it.
        self.is_plain: Sequence[bool] = [
            len(around) == sum(domain >= 0 for domain in domains)
            for around, domains in zip(self.around, self.by_tier, strict=True)
        ]
        #: Whether every site has a domain of each tier.
        self.is_complete = bool((self.domains >= 0).all())
        #: Whether the nodes of sites follow each other, so that `order` changes nothing.
        self.is_in_order = bool((self.order[1:] > self.order[:-1]).all())
        self._nearby: dict[int, Nearby] = {}

    def __len__(self) -> int:
        return len(self.around)

    @cached_property
    def site_of(self) -> Sequence[int]:
        """The site of each node, as plain numbers."""
        return self.of_node.tolist()

    def rows(self, site: int) -> Index:
        """Return the nodes of a site, in index order."""
        return self.order[self._spans[site]]

    def part_of(self, values: NDArray[Any], site: int) -> NDArray[Any]:
        """Return the values of the nodes of a site, in index order."""
        return values[self._spans[site]] if self.is_in_order else values[self.rows(site)]

    @cached_property
    def _spans(self) -> Sequence[slice]:
        starts = [*self.starts.tolist(), len(self.order)]
        return [slice(start, end) for start, end in pairwise(starts)]

    def is_alone(self, site: int) -> bool:
        """Report whether no other site has a domain that contains nodes of this one."""
        return len(self.nearby(site).sites) == 1

    def nearby(self, site: int) -> Nearby:
        known = self._nearby.get(site)
        if known is None:
            is_around = np.isin(self.domains, self.around[site])
            others = [each for each in np.flatnonzero(np.count_nonzero(is_around, axis=0)).tolist() if each != site]
            sites = np.array([site, *others], dtype=np.int64)
            known = self._nearby[site] = Nearby(sites, self.domains[:, sites, None], is_around[:, sites, None])
        return known
