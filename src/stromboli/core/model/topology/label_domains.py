"""Domains: the sets of nodes that share a value of a label, and the pods counted in them.

Rules about other pods do not ask about a node but about its zone, its rack, or whatever a topology key names.
Counting is two steps over columns: sum a tally by domain, then read each node's domain. Nodes without the label
are in no domain; they have a place of their own at the front where the count is always zero, so that no step
needs a mask.
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
    """The domains of one label. Place 0 stands for "no domain", place 1 + code for the domain with that code."""

    #: The place of every node.
    places: Index
    #: How many places there are.
    size: int

    def totals(self, tally: Tally) -> Vector:
        """A tally summed by place. Sums stay far below 2**53, so they are exact."""
        totals = np.bincount(self.places, weights=tally, minlength=self.size).astype(np.float64, copy=False)
        totals[0] = 0.0
        return totals


def label_domains(nodes: NodeTable, label: str) -> LabelDomains:
    """The domains of a label, made once per table."""
    known: LabelDomains = nodes.remember(("label domains", label), lambda table: _domains(table, label))
    return known


def _domains(nodes: NodeTable, label: str) -> LabelDomains:
    column = nodes.column(label)
    return LabelDomains(column.codes + 1, len(column.values) + 1)


@dataclass(frozen=True, slots=True, eq=False)
class DomainCount:
    """Pods of one or more kinds, counted per domain of one label; each kind counts with its weight."""

    domains: LabelDomains
    #: (number of the tally, weight).
    kinds: tuple[tuple[int, int], ...]

    def per_domain(self, ledger: Ledger) -> Vector | None:
        """The count at every place of the domains; None when there are no such pods."""
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
    """One count per label for all kinds (label, number, weight) together: adding tallies is cheap, summing by domain
    is not."""
    by_label: dict[str, list[tuple[int, int]]] = {}
    for label, number, weight in kinds:
        by_label.setdefault(label, []).append((number, weight))
    return tuple(DomainCount(label_domains(nodes, label), tuple(found)) for label, found in by_label.items())


def domains_without(counts: Iterable[DomainCount], ledger: Ledger) -> Mask:
    """Nodes with none of the counted pods in their domain; nodes in no domain are among them."""
    mask: Mask | None = None
    for count in counts:
        totals = count.per_domain(ledger)
        if totals is not None:
            empty = (totals == 0)[count.domains.places]
            mask = empty if mask is None else mask & empty
    return np.ones(len(ledger.nodes), dtype=np.bool_) if mask is None else mask
