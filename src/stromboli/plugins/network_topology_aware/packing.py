"""The fuller a domain would be, the better: large ones stay whole for those who need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from stromboli.framework.arguments import Arguments
from stromboli.framework.domain_sums import DomainSums
from stromboli.model.books import Amount
from stromboli.model.hypernodes import HyperNodeTree
from stromboli.model.ledger import Ledger
from stromboli.model.nodes import Index, Vector
from stromboli.model.resources import Request, ResourceAxis

PREFIX = "hypernode.binpack"


def weights_of(given: Arguments) -> dict[str, int]:
    """The weight of every resource that counts, by name."""
    named = given.with_prefix(f"{PREFIX}.resources.")
    names = (name.strip() for name in given[f"{PREFIX}.resources"].split(","))
    weights = {name: named.get(name, 1) for name in names if name}
    return weights | {"cpu": given[f"{PREFIX}.cpu"], "memory": given[f"{PREFIX}.memory"]}


class DomainPacking:
    """How full domains are, in the resources that count. Follows what the cycle does."""

    def __init__(self, tree: HyperNodeTree, ledger: Ledger, axis: ResourceAxis, weights: Mapping[str, int]) -> None:
        self._tree = tree
        self._ledger = ledger
        found = ((axis.find(name), weight) for name, weight in weights.items())
        self._weights = {dimension: weight for dimension, weight in found if dimension is not None and weight > 0}
        rows = ledger.all_rows
        self._capacity = {dimension: tree.sums(rows.allocatable(dimension)) for dimension in self._weights}
        self._used = {
            dimension: DomainSums(tree, ledger, partial(_used, ledger, dimension)) for dimension in self._weights
        }

    def scores(self, request: Request) -> Vector:
        """For each domain the weighted mean of the parts in use with this much more; 0 where it is more than there is,
        and where nothing that counts is asked for.
        """
        asked = [(dimension, amount) for dimension, amount in request if dimension in self._weights]
        total = np.zeros(len(self._tree.hyper_nodes))
        fits = np.ones(len(total), dtype=np.bool_)
        for dimension, amount in asked:
            used, capacity = self._used[dimension].now() + amount, self._capacity[dimension]
            fits &= used <= capacity
            total += self._weights[dimension] * used / np.maximum(capacity, 1)
        whole = sum(self._weights[dimension] for dimension, _ in asked)
        return np.where(fits, total / whole, 0.0) if whole else np.zeros(len(total))


def _used(ledger: Ledger, dimension: int, index: Index | None) -> Amount:
    return ledger.all_rows.used(dimension) if index is None else ledger.all_rows.used(dimension)[index]


def sum_of(requests: Sequence[Request]) -> Request:
    total: dict[int, int] = {}
    for request in requests:
        for dimension, amount in request:
            total[dimension] = total.get(dimension, 0) + amount
    return tuple(total.items())
