"""What the nodes can hold when no pod runs on them: an upper bound of every placement."""

from __future__ import annotations

import numpy as np

from stromboli.core.model.nodes.amounts import AmountLayout, Block
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.resources.resources import UNLIMITED, Amounts, Request

#: Answers are kept for this many requests: tenants may make up ever new ones while the nodes stay the same.
_MAX_KEPT = 16_384


class EmptyCapacity:
    """The allocatable amounts of all nodes that a scheduler may use, cordoned and unready ones included."""

    def __init__(self, allocatable: Block) -> None:
        self._allocatable = np.maximum(allocatable, 0)
        self.nodes = allocatable.shape[1]
        #: By dimension, the sum over all nodes, and the amount of the node that has most.
        self.total: Amounts = self._allocatable.sum(axis=1).tolist()
        self.largest: Amounts = self._allocatable.max(axis=1, initial=0).tolist()
        self._copies: dict[Request, int] = {}

    def copies(self, request: Request) -> int:
        """Return how many pods with this request fit on all nodes together."""
        known = self._copies.get(request)
        if known is None:
            if len(self._copies) >= _MAX_KEPT:
                self._copies.clear()
            known = self._copies[request] = self._count_copies(request)
        return known

    def _count_copies(self, request: Request) -> int:
        if not request:
            return UNLIMITED
        if any(amount > self.largest[d] for d, amount in request):
            return 0
        return int(np.min([self._allocatable[d] // amount for d, amount in request], axis=0).sum())


def empty_capacity(nodes: NodeTable, layout: AmountLayout, amounts: Block) -> EmptyCapacity:
    """Return the capacity of the empty nodes, computed once per node table."""
    return nodes.remember(
        (EmptyCapacity, layout.resources), lambda table: EmptyCapacity(_usable(table, amounts[layout.allocatable :]))
    )


def _usable(nodes: NodeTable, allocatable: Block) -> Block:
    """Return the amounts of the nodes that are not in the shard of another scheduler."""
    return allocatable if nodes.excluded_nodes is None else allocatable[:, ~nodes.excluded_nodes]
