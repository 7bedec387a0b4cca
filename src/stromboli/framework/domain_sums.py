"""What the nodes of each domain have together, of amounts that change during a cycle.

Summed up once, and then kept fresh by the log of the ledger: what a node has more or less than before is added to the
domains that it is in. A gang changes a few nodes, and for these plain numbers are faster than columns.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from stromboli.model.books import Amount, Block
from stromboli.model.hypernodes import HyperNodeTree
from stromboli.model.ledger import Ledger


class Amounts(Protocol):
    """An amount for every node, as the books stand now."""

    def of_all(self) -> Amount: ...

    def of(self, row: int) -> int: ...


class BookAmounts:
    """One fact of the books, with others added to it or taken off."""

    def __init__(self, books: Block, fact: int, plus: int | None = None, minus: int | None = None) -> None:
        self._fact = books[fact]
        self._plus = None if plus is None else books[plus]
        self._minus = None if minus is None else books[minus]

    def of_all(self) -> Amount:
        total = self._fact
        total = total if self._plus is None else total + self._plus
        return total if self._minus is None else total - self._minus

    def of(self, row: int) -> int:
        total = self._fact.item(row)
        total = total if self._plus is None else total + self._plus.item(row)
        return total if self._minus is None else total - self._minus.item(row)


class DomainSums:
    def __init__(self, tree: HyperNodeTree, ledger: Ledger, amounts: Amounts) -> None:
        self._tree = tree
        self._log = ledger.log
        self._amounts = amounts
        #: Up to so many nodes are looked at one by one; where more have changed, all are.
        self._few = 4 + tree.nodes // 16
        self._fresh = 0
        self._sums = self._sum_up()

    def now(self) -> Amount:
        """The sums as the ledger stands now, by the places of domains. Not to be written to, nor kept."""
        log = self._log
        if log.position != self._fresh:
            changed = log.since(self._fresh)
            if len(changed) <= self._few:
                self._add_changes(changed.tolist())
                self._fresh = log.position
            else:
                self._sums = self._sum_up()
        return self._sums

    def _sum_up(self) -> Amount:
        of_nodes = np.array(self._amounts.of_all())
        sums = self._tree.sums(of_nodes)
        #: Fast access to single entries: of nodes, and of the sums.
        self._of_nodes: Any = memoryview(of_nodes)  # type: ignore[arg-type]
        self._of_domains: Any = memoryview(sums)  # type: ignore[arg-type]
        self._fresh = self._log.position
        return sums

    def _add_changes(self, rows: list[int]) -> None:
        amount_of, of_nodes, of_domains = self._amounts.of, self._of_nodes, self._of_domains
        domains_of = self._tree.domains_of
        for row in rows:
            amount = amount_of(row)
            more = amount - of_nodes[row]
            if more:
                of_nodes[row] = amount
                for place in domains_of[row]:
                    of_domains[place] += more
