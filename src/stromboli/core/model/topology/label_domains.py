"""Label domains: the sets of nodes that share a value of a label, and the pods counted in them.

Inter-pod rules are about the zone or rack of a node, or whatever a topology key names. Counting takes two steps over
columns: sum a tally by domain, then read each node's domain. Nodes without the label are in no domain; they share index
0, where the count is always zero, so that no step needs a mask.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.table import Index, Mask, NodeTable, Vector

Tally = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class LabelDomains:
    """The domains of one label. Index 0 means "no domain", index 1 + code the domain with that code."""

    #: Domain index of every node.
    places: Index
    #: Number of indices.
    size: int

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
    return LabelDomains(column.codes + 1, len(column.values) + 1)


@dataclass(frozen=True, slots=True, eq=False)
class DomainCount:
    """Pods of one or more terms, counted per domain of one label; each term counts with its weight."""

    domains: LabelDomains
    #: (number of the tally, weight).
    kinds: tuple[tuple[int, int], ...]

    def per_domain(self, ledger: Ledger) -> Vector | None:
        """Return the count at every domain index; None if there are no such pods."""
        tally = self._tally(ledger)
        return None if tally is None else self.domains.totals(tally)

    def _tally(self, ledger: Ledger) -> Tally | None:
        total: Tally | None = None
        for number, weight in self.kinds:
            tally = ledger.tally(number)
            if tally is not None:
                weighted = tally if weight == 1 else tally * np.int32(weight)
                total = weighted if total is None else total + weighted
        return total


def count_by_label(nodes: NodeTable, kinds: Iterable[tuple[str, int, int]]) -> tuple[DomainCount, ...]:
    """Combine terms (label, number, weight) into one count per label: adding tallies is cheap, summing by domain is
    not.
    """
    by_label: dict[str, list[tuple[int, int]]] = {}
    for label, number, weight in kinds:
        by_label.setdefault(label, []).append((number, weight))
    return tuple(DomainCount(label_domains(nodes, label), tuple(found)) for label, found in by_label.items())


def domains_without(counts: Iterable[DomainCount], ledger: Ledger) -> Mask:
    """Return nodes with none of the counted pods in their domain, including nodes in no domain."""
    mask: Mask | None = None
    for count in counts:
        totals = count.per_domain(ledger)
        if totals is not None:
            empty = (totals == 0)[count.domains.places]
            mask = empty if mask is None else mask & empty
    return np.ones(len(ledger.nodes), dtype=np.bool_) if mask is None else mask
