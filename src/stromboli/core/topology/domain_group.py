"""Domains of one tier of a tree, and scores of domains, as columns.

A gang evaluates all racks at once, and thousands of gangs do: amounts are looked up by domain index, names only on
demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress

import numpy as np

from stromboli.core.config.plugin import Domain
from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.nodes.table import Index, Mask, Vector


class DomainGroup(tuple[Domain, ...]):
    """Domains that all belong to the same tree."""

    #: The indices of the domains in the tree.
    places: Index
    #: The last selection: gang after gang requests the same one.
    _chosen: Sequence[bool] = ()
    _part: DomainGroup

    def where(self, marked: Mask) -> DomainGroup:
        """Return the domains whose indices are marked."""
        chosen = marked[self.places].tolist()
        if False not in chosen:
            return self
        if chosen != self._chosen:
            self._chosen, self._part = chosen, _grouped(compress(self, chosen), self.places[chosen])
        return self._part


def group_of(domains: Iterable[Domain]) -> DomainGroup:
    found = tuple(domains)
    return _grouped(found, np.array([domain.place for domain in found], dtype=np.int64))


def _grouped(domains: Iterable[Domain], places: Index) -> DomainGroup:
    group = DomainGroup(domains)
    group.places = places
    return group


def marked_in(domains: Sequence[Domain], marked: Mask) -> Sequence[Domain]:
    """Return the domains whose indices are marked, and those without an index."""
    if isinstance(domains, DomainGroup):
        return domains.where(marked)
    return [domain for domain in domains if domain.place is None or marked[domain.place]]


def _capacity_in(domain: Domain, capacity: Amount | None) -> int:
    return 0 if capacity is None or domain.place is None else int(capacity.item(domain.place))


class DomainScores(Mapping[str, float]):
    """Scores of domains: higher is better."""

    def __init__(self, domains: Sequence[Domain], points: Vector) -> None:
        self._domains = domains
        self._points = points

    def best(self, capacity: Amount | None = None) -> tuple[Domain, float]:
        """Return the best domain with its score; among equals the one with the most capacity, and then the first by
        name.
        """
        points: list[float] = self._points.tolist()
        highest = max(points)
        if points.count(highest) == 1:
            return self._domains[points.index(highest)], highest
        equals = (domain for domain, point in zip(self._domains, points, strict=True) if point == highest)
        return min(equals, key=lambda domain: (-_capacity_in(domain, capacity), domain.name)), highest

    @cached_property
    def _by_name(self) -> dict[str, float]:
        return dict(zip((domain.name for domain in self._domains), self._points.tolist(), strict=True))

    def __getitem__(self, name: str) -> float:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._domains)
