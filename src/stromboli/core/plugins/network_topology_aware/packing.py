"""The fuller a domain would be, the better: large ones stay whole for those who need them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from stromboli.core.config.arguments import Arguments
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.table import Vector
from stromboli.core.model.resources.resources import Request, ResourceAxis
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.plugins.network_topology_aware.domain_amounts import DomainAmounts
from stromboli.core.topology.domain_capacity import numbers_of

PREFIX = "hypernode.binpack"


def weights_of(given: Arguments) -> dict[str, int]:
    """The weight of every resource that counts, by name."""
    named = given.with_prefix(f"{PREFIX}.resources.")
    names = (name.strip() for name in given[f"{PREFIX}.resources"].split(","))
    weights = {name: named.get(name, 1) for name in names if name}
    return weights | {"cpu": given[f"{PREFIX}.cpu"], "memory": given[f"{PREFIX}.memory"]}


class DomainPacking:
    """How full domains are, in the resources that count. Follows what the cycle does."""

    def __init__(
        self,
        tree: HyperNodeTree,
        ledger: Ledger,
        axis: ResourceAxis,
        weights: Mapping[str, int],
        amounts: DomainAmounts,
    ) -> None:
        self._tree = tree
        self._amounts = amounts
        found = ((axis.find(name), weight) for name, weight in weights.items())
        self._weights = {dimension: weight for dimension, weight in found if dimension is not None and weight > 0}
        rows = ledger.all_rows
        self._capacity = {dimension: tree.sums(rows.allocatable(dimension)) for dimension in self._weights}
        self._divisors = {dimension: np.maximum(capacity, 1) for dimension, capacity in self._capacity.items()}

    def scores(self, request: Request) -> Vector:
        """For each domain the weighted mean of the parts in use with this much more; 0 where it is more than there is,
        and where nothing that counts is asked for.
        """
        asked = [(dimension, amount) for dimension, amount in request if dimension in self._weights]
        total = np.zeros(len(self._tree.hyper_nodes))
        too_much = np.zeros(len(total), dtype=np.bool_)
        for dimension, amount in asked:
            capacity = self._capacity[dimension]
            used = capacity - self._amounts.idle(dimension) + amount
            too_much |= used > capacity
            weight = self._weights[dimension]
            total += (used if weight == 1 else weight * used) / self._divisors[dimension]
        whole = sum(self._weights[dimension] for dimension, _ in asked)
        return np.where(too_much, 0.0, total / whole) if whole else total


def sum_of(tasks: Iterable[Task]) -> Request:
    """What tasks ask for together."""
    total: dict[int, int] = {}
    for task_class, number in numbers_of(tasks).items():
        for dimension, amount in task_class.request:
            total[dimension] = total.get(dimension, 0) + amount * number
    return tuple(total.items())
