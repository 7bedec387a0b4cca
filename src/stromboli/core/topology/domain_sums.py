"""Sums over the nodes of each domain, of amounts that change during a cycle.

Computed once, and then updated from the ledger's log: the change of a node is added to its domains. A gang changes few
nodes, and for these plain numbers are faster than columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.topology.hypernodes import HyperNodeTree


class NodeAmounts(Protocol):
    """The current amount of every node."""

    def of_all(self) -> Amount: ...

    def of_rows(self, rows: Sequence[int]) -> list[int]: ...


class IdleAmounts:
    """Idle amounts of a resource: now, or once all releasing pods are gone."""

    def __init__(self, ledger: Ledger, dimension: int, *, later: bool = False) -> None:
        amounts, layout = ledger.amounts, ledger.layout
        self._facts = [amounts[dimension]]
        if later:
            self._facts += [amounts[layout.releasing + dimension], amounts[layout.pipelined + dimension]]
        #: Fast access to single entries of the same memory.
        self._entries: list[Any] = [memoryview(fact) for fact in self._facts]

    def of_all(self) -> Amount:
        idle, *others = self._facts
        return idle + others[0] - others[1] if others else idle

    def of_rows(self, rows: Sequence[int]) -> list[int]:
        idle, *others = self._entries
        if not others:
            return [idle[row] for row in rows]
        releasing, pipelined = others
        return [idle[row] + releasing[row] - pipelined[row] for row in rows]


class DomainSums:
    def __init__(self, tree: HyperNodeTree, ledger: Ledger, amounts: NodeAmounts) -> None:
        self._tree = tree
        self._log = ledger.log
        self._amounts = amounts
        #: Up to this many nodes are updated one by one; beyond it, all are.
        self._few = 4 + tree.nodes // 16
        self._fresh = 0
        self._sums = self._sum_up()

    def now(self) -> Amount:
        """Return the current sums by domain index. Read-only, and valid until the next change."""
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

    def _add_changes(self, rows: Sequence[int]) -> None:
        """Consecutive nodes in the log are often in the same domains: their changes are added together."""
        of_nodes, domains_of = self._of_nodes, self._tree.domains_of
        domains: Sequence[int] = ()
        together = 0
        for row, amount in zip(rows, self._amounts.of_rows(rows), strict=True):
            more = amount - of_nodes[row]
            of_nodes[row] = amount
            if domains_of[row] is domains:
                together += more
            else:
                self._add(together, domains)
                domains, together = domains_of[row], more
        self._add(together, domains)

    def _add(self, more: int, domains: Sequence[int]) -> None:
        if more:
            of_domains = self._of_domains
            for place in domains:
                of_domains[place] += more
