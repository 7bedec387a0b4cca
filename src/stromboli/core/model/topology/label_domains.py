"""Label domains: the sets of nodes that share a value of a label, and the pods counted in them.

Inter-pod rules are about the zone or rack of a node, or whatever a topology key names. Counting takes two steps over
columns: sum a tally by domain, then read each node's domain. Nodes without the label are in no domain; they share index
0, where the count is always zero, so that no step needs a mask.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.ledger.deferred_counts import FeedSum
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.table import Index, Mask, NodeTable, Vector
from stromboli.core.model.tasks.pod_terms import OwnedNumbers, TermRegistry
from stromboli.core.model.tasks.task_class import TaskClass

Tally = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class LabelDomains:
    """The domains of one label. Index 0 means "no domain", index 1 + code the domain with that code."""

    #: Domain index of every node.
    places: Index
    #: Number of indices.
    size: int
    #: The first index that any node has: 0 if some have no label.
    first: int = 0

    def totals(self, tally: Tally) -> Vector:
        """Sum a tally by domain index. Sums stay far below 2**53, so they are exact."""
        totals = np.bincount(self.places, weights=tally, minlength=self.size).astype(np.float64, copy=False)
        totals[0] = 0.0
        return totals


def label_domains(nodes: NodeTable, label: str) -> LabelDomains:
    """Return the domains of a label, computed once per table."""
    known: LabelDomains = nodes.remember(("label domains", label), lambda table: _domains(table, label))
    return known


def _domains(nodes: NodeTable, label: str) -> LabelDomains:
    column = nodes.column(label)
    return LabelDomains(column.codes + 1, len(column.values) + 1, int((column.codes >= 0).all()))


#: Up to this many terms are added up for every query.
_FEW = 4


@dataclass(slots=True, eq=False)
class DomainCount:
    """Pods of one or more terms, counted per domain of one label; each term counts with its weight.

    The count of many terms is kept: after a placement, only the pods placed since are added. Valid for one ledger.
    """

    domains: LabelDomains
    #: (number of the tally, weight).
    kinds: tuple[tuple[int, int], ...]
    _totals: Vector | None = None
    #: The changes of tallies that the count follows, and the number of those that it includes.
    _followed: list[tuple[TaskClass, Sequence[int], int]] | None = None
    _position: int = 0
    _by_number: dict[int, int] = field(default_factory=dict)
    #: How much a pod counts, by what it feeds in common with others.
    _weights: dict[frozenset[int], int] = field(default_factory=dict)

    def per_domain(self, ledger: Ledger) -> Vector | None:
        """Return the count at every domain index; None if all are 0. The result is valid until the next placement, and
        must not be changed.
        """
        totals = self._kept_totals(ledger) if len(self.kinds) > _FEW else self._added_totals(ledger)
        return None if totals is None or not np.count_nonzero(totals) else totals

    def _kept_totals(self, ledger: Ledger) -> Vector:
        """Return the kept count, with everything that was placed since the last query."""
        fed, totals = ledger.fed, self._totals
        if totals is None or self._followed is not fed:
            totals = self._added_totals(ledger)
            if totals is None:
                totals = np.zeros(self.domains.size)
            self._totals, self._followed, self._position = totals, fed, len(fed)
        for task_class, rows, step in fed[self._position :]:
            if weight := self.weight_of(task_class, ledger.terms):
                for place in self.domains.places[rows].tolist():
                    totals[place] += step * weight
        totals[0] = 0.0
        self._position = len(fed)
        return totals

    def weight_of(self, task_class: TaskClass, terms: TermRegistry) -> int:
        """Return how much a pod of the class counts."""
        common, own = terms.feeds_of(task_class)
        by_number = self._by_number
        if not by_number:
            for number, weight in self.kinds:
                by_number[number] = by_number.get(number, 0) + weight
        known = self._weights.get(common)
        if known is None:
            known = self._weights[common] = sum(by_number[number] for number in by_number.keys() & common)
        return known + sum([by_number[number] for number in own if number in by_number])

    def _added_totals(self, ledger: Ledger) -> Vector | None:
        """Add up all terms; None if no pod counts."""
        domains, total, apart = self.domains, None, list[tuple[FeedSum, int]]()
        for number, weight in self.kinds:
            tally, missing = ledger.parts_of_tally(number)
            apart += [(found, weight * step) for found, step in missing]
            if tally is not None:
                weighted = tally if weight == 1 else tally * np.int32(weight)
                total = weighted if total is None else total + weighted
        if total is None and not apart:
            return None
        totals = np.zeros(domains.size) if total is None else domains.totals(total)
        for found, factor in apart:
            totals += found.by_domain(domains.places, domains.size) * factor
        totals[0] = 0.0
        return totals


def count_by_label(nodes: NodeTable, kinds: Iterable[tuple[str, int, int]]) -> tuple[DomainCount, ...]:
    """Combine terms (label, number, weight) into one count per label: adding tallies is cheap, summing by domain is
    not.
    """
    by_label: dict[str, list[tuple[int, int]]] = {}
    for label, number, weight in kinds:
        by_label.setdefault(label, []).append((number, weight))
    return tuple(DomainCount(label_domains(nodes, label), tuple(found)) for label, found in by_label.items())


def are_fed_by(counts: Iterable[DomainCount], task_class: TaskClass, ledger: Ledger) -> bool:
    """Report whether members of the class count in any of the counts."""
    return any(count.weight_of(task_class, ledger.terms) for count in counts)


def domains_without(counts: Iterable[DomainCount], ledger: Ledger) -> Mask:
    """Return nodes with none of the counted pods in their domain, including nodes in no domain."""
    mask: Mask | None = None
    for count in counts:
        totals = count.per_domain(ledger)
        if totals is not None:
            empty = (totals == 0)[count.domains.places]
            mask = empty if mask is None else mask & empty
    return np.ones(len(ledger.nodes), dtype=np.bool_) if mask is None else mask


class OwnedCounts:
    """Counts of the owners of terms, one for all classes that the same terms select. Valid for one ledger."""

    __slots__ = ("_counts", "_ledger")

    def __init__(self) -> None:
        #: By identity of the terms: comparing hundreds of them would take longer than counting.
        self._counts: dict[int, tuple[OwnedNumbers, tuple[DomainCount, ...]]] = {}
        self._ledger: Callable[[], Ledger | None] = lambda: None

    def of(self, about: OwnedNumbers, ledger: Ledger) -> tuple[DomainCount, ...]:
        """Return the counts of these terms: with their weights, or of their pods if they are required."""
        if self._ledger() is not ledger:
            self._ledger, self._counts = weakref.ref(ledger), {}
        known = self._counts.get(id(about))
        if known is None:
            weighted = ((owned.topology_key, number, owned.weight or 1) for number, owned in about)
            known = self._counts[id(about)] = about, count_by_label(ledger.nodes, weighted)
        return known[1]
