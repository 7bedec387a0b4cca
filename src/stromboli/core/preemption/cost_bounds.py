"""Lower cost bounds of all nodes at once: the same as `NodeRanking.bound`, over columns.

On a node, candidates are added grade by grade until they suffice; then all of the last grade may be among the victims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.table import Index, Mask, Vector
from stromboli.core.model.resources.resources import Request

Amounts = NDArray[np.int64]


@dataclass(slots=True)
class CandidateColumns:
    """Entry i of every column belongs to candidate i."""

    rows: Index
    #: By grade, smaller ones first.
    ranks: Index
    created: Vector
    numbers: Index
    #: The amounts that the candidates hold of each requested resource.
    amounts: Sequence[Amounts]

    def on(self, nodes: Mask) -> CandidateColumns:
        """The candidates on some of the nodes."""
        there = nodes[self.rows]
        amounts = [amount[there] for amount in self.amounts]
        return CandidateColumns(self.rows[there], self.ranks[there], self.created[there], self.numbers[there], amounts)


@dataclass(slots=True)
class MinCosts:
    """Entry i of every column belongs to node `rows[i]`."""

    rows: Index
    ranks: Index
    victims: Index
    ages: Vector
    numbers: Index


def min_costs(candidates: CandidateColumns, missing: Sequence[Amounts]) -> MinCosts:
    """The bounds of all nodes on which the candidates suffice; `missing` has one row for each resource."""
    nodes = len(missing[0])
    order = np.lexsort((candidates.ranks, candidates.rows))
    rows, ranks = candidates.rows[order], candidates.ranks[order]
    amounts = [amount[order] for amount in candidates.amounts]
    enough = np.ones(len(rows), dtype=np.bool_)
    for amount, short in zip(amounts, missing, strict=True):
        enough &= _within_rows(rows, amount) >= short[rows]
    found, firsts = np.unique(rows[enough], return_index=True)
    grades = np.full(nodes, -1, dtype=np.int64)
    grades[found] = ranks[enough][firsts]
    taken = ranks <= grades[rows]
    victims = np.ones(nodes, dtype=np.int64)
    for amount, short in zip(amounts, missing, strict=True):
        largest = np.ones(nodes, dtype=np.int64)
        np.maximum.at(largest, rows[taken], amount[taken])
        np.maximum(victims, -(-short // largest), out=victims)
    ages = _ages(rows[taken], candidates.created[order][taken], victims)
    numbers = np.full(nodes, np.iinfo(np.int64).min)
    np.maximum.at(numbers, rows[taken], candidates.numbers[order][taken])
    return MinCosts(found, grades[found], victims[found], ages[found], numbers[found])


def shortage(ledger: Ledger, request: Request, row: int) -> Request:
    """Return the shortage of the node for the request after all releases are finished."""
    item, layout, short = ledger.amounts.item, ledger.layout, []
    releasing, pipelined = layout.releasing, layout.pipelined
    for dimension, amount in request:
        missing = amount - item(dimension, row) - item(releasing + dimension, row) + item(pipelined + dimension, row)
        if missing > 0:
            short.append((dimension, missing))
    return tuple(short)


def exceeds_running(ledger: Ledger, short: Request, row: int) -> bool:
    """Report whether the pods of a node that are not being removed hold less than a shortage: no eviction suffices."""
    item, layout = ledger.amounts.item, ledger.layout
    for dimension, missing in short:
        if item(layout.used + dimension, row) - item(layout.releasing + dimension, row) < missing:
            return True
    return False


def _within_rows(rows: Index, amounts: Amounts) -> Amounts:
    """Cumulative sums that restart with every row."""
    sums = amounts.cumsum()
    starts = _starts(rows)
    before: Amounts = (sums - amounts)[starts]
    return sums - before


def _starts(rows: Index) -> Index:
    """For each entry, the first one of its row."""
    return rows.searchsorted(rows)


def _ages(rows: Index, created: Vector, victims: Index) -> Vector:
    """For each node, the age of the youngest candidates, as many as there are victims."""
    order = np.lexsort((-created, rows))
    rows, created = rows[order], created[order]
    is_victim: Mask = np.arange(len(rows)) - _starts(rows) < victims[rows]
    ages: Vector = np.zeros(len(victims))
    np.add.at(ages, rows[is_victim], -created[is_victim])
    return ages
