"""What the nodes of each domain have together, of amounts that change during a cycle.

Summed up once, and then kept fresh by the log of the ledger: what a node has more or less than before is added to the
domains that it is in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stromboli.model.books import Amount
from stromboli.model.hypernodes import HyperNodeTree
from stromboli.model.ledger import Ledger
from stromboli.model.nodes import Index

#: The amounts of some nodes, or of all of them.
Amounts = Callable[[Index | None], Amount]


class DomainSums:
    def __init__(self, tree: HyperNodeTree, ledger: Ledger, amounts: Amounts) -> None:
        self._tree = tree
        self._log = ledger.log
        self._amounts = amounts
        self._of_nodes = np.array(amounts(None))
        self._sums = self._summed_up()
        self._fresh = ledger.log.position

    def now(self) -> Amount:
        """The sums as the ledger stands now, by the places of domains. Not to be written to."""
        log = self._log
        if log.position != self._fresh:
            self._add_changes(np.unique(log.since(self._fresh)))
            self._fresh = log.position
        return self._sums[:-1]

    def _summed_up(self) -> Amount:
        """With one more place at the end, for what is in no further domain."""
        return np.append(self._tree.sums(self._of_nodes), 0)

    def _add_changes(self, rows: Index) -> None:
        amounts = self._amounts(rows)
        more = amounts - self._of_nodes[rows]
        self._of_nodes[rows] = amounts
        if not more.any():
            return
        if self._tree.levels is None or len(rows) * 4 > len(self._of_nodes):
            self._sums = self._summed_up()
            return
        for level in self._tree.levels:
            np.add.at(self._sums, level[rows], more)
