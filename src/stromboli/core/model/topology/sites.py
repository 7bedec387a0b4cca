"""Sites: sets of nodes that are in the same domains. What depends on domains alone is computed once per site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

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
        #: All domains that contain the nodes of a site.
        self.around: Sequence[list[int]] = [list(domains) for domains in numbers]
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
        #: Whether every site has a domain of each tier.
        self.is_complete = bool((self.domains >= 0).all())
        #: Whether the nodes of sites follow each other, so that `order` changes nothing.
        self.is_in_order = bool((self.order[1:] > self.order[:-1]).all())
        self._nearby: dict[int, Nearby] = {}

    def __len__(self) -> int:
        return len(self.around)

    def rows(self, site: int) -> Index:
        """Return the nodes of a site, in index order."""
        end = self.starts[site + 1] if site + 1 < len(self.around) else len(self.order)
        return self.order[self.starts[site] : end]

    def nearby(self, site: int) -> Nearby:
        known = self._nearby.get(site)
        if known is None:
            is_around = np.isin(self.domains, self.around[site])
            others = [each for each in np.flatnonzero(np.count_nonzero(is_around, axis=0)).tolist() if each != site]
            sites = np.array([site, *others], dtype=np.int64)
            known = self._nearby[site] = Nearby(sites, self.domains[:, sites, None], is_around[:, sites, None])
        return known
