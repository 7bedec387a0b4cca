"""The fuller a domain would be, the better: large ones stay whole for those who need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stromboli.framework.arguments import Arguments
from stromboli.framework.domain_sums import BookAmounts, DomainSums
from stromboli.model.hypernodes import HyperNodeTree
from stromboli.model.ledger import Ledger
from stromboli.model.nodes import Vector
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
        self._divisors = {dimension: np.maximum(capacity, 1) for dimension, capacity in self._capacity.items()}
        books, used = ledger.books, ledger.layout.used
        self._used = {d: DomainSums(tree, ledger, BookAmounts(books, used + d)) for d in self._weights}

    def scores(self, request: Request) -> Vector:
        """For each domain the weighted mean of the parts in use with this much more; 0 where it is more than there is,
        and where nothing that counts is asked for.
        """
        asked = [(dimension, amount) for dimension, amount in request if dimension in self._weights]
        total = np.zeros(len(self._tree.hyper_nodes))
        too_much = np.zeros(len(total), dtype=np.bool_)
        for dimension, amount in asked:
            used = self._used[dimension].now() + amount
            too_much |= used > self._capacity[dimension]
            total += self._weights[dimension] * used / self._divisors[dimension]
        whole = sum(self._weights[dimension] for dimension, _ in asked)
        return np.where(too_much, 0.0, total / whole) if whole else total


def sum_of(requests: Sequence[Request]) -> Request:
    total: dict[int, int] = {}
    for request in requests:
        for dimension, amount in request:
            total[dimension] = total.get(dimension, 0) + amount
    return tuple(total.items())
