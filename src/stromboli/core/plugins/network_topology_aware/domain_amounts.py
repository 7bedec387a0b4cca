"""What the domains of a network have left of a resource, summed up on first use."""

from __future__ import annotations

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.topology.domain_sums import DomainSums, IdleAmounts


class DomainAmounts:
    def __init__(self, tree: HyperNodeTree, ledger: Ledger) -> None:
        self._tree = tree
        self._ledger = ledger
        self._idle: dict[int, DomainSums] = {}
        self._later: dict[int, DomainSums] = {}

    def idle(self, dimension: int) -> Amount:
        """Return the idle amount by index of the domain. Read-only, valid until the next operation."""
        known = self._idle.get(dimension)
        if known is None:
            amounts = IdleAmounts(self._ledger, dimension)
            known = self._idle[dimension] = DomainSums(self._tree, self._ledger, amounts)
        return known.now()

    def later(self, dimension: int) -> Amount:
        """Return the same after all releases are finished and nominated capacity is used."""
        known = self._later.get(dimension)
        if known is None:
            amounts = IdleAmounts(self._ledger, dimension, later=True)
            known = self._later[dimension] = DomainSums(self._tree, self._ledger, amounts)
        return known.now()
