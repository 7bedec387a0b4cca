"""Allocatable amounts as divisors: never zero, so that a share of nothing is zero and not an error.

Scorers divide by what nodes have, thousands of times a second. Nearly always every node has cpu and memory;
that is found out once per cycle, and the amounts are then used as they are.
"""

from __future__ import annotations

import numpy as np

from stromboli.model.books import Amount, Rows
from stromboli.model.ledger import Ledger
from stromboli.model.nodes import Mask
from stromboli.model.resources import CPU, MEMORY

#: Constants as arrays without dimensions: NumPy takes them faster than Python numbers.
ZERO: Amount = np.array(0, dtype=np.int64)
ONE: Amount = np.array(1, dtype=np.int64)


class Divisors:
    """What to divide by, for the cycle that was opened last."""

    __slots__ = ("_everywhere",)

    def __init__(self) -> None:
        #: Resources that every node has some of.
        self._everywhere: frozenset[int] = frozenset()

    def open(self, ledger: Ledger) -> None:
        rows = ledger.all_rows
        self._everywhere = frozenset(d for d in (CPU, MEMORY) if rows.allocatable(d).all())

    def of(self, rows: Rows, dimension: int) -> Amount:
        """The allocatable amounts, with 1 in the place of 0."""
        allocatable = rows.allocatable(dimension)
        return allocatable if dimension in self._everywhere else np.maximum(allocatable, ONE)

    def present(self, rows: Rows, dimension: int) -> Mask | None:
        """Where there is any of the resource; None for everywhere."""
        return None if dimension in self._everywhere else rows.allocatable(dimension) > ZERO
