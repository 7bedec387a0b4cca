"""Packing scores: prefer fuller domains, so that large gaps remain for jobs that need them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments, PrefixArgument
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.resources.resources import Request, ResourceAxis
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.topology.domain_capacity import numbers_of
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
        """Return the idle amount of each domain after all releases are finished and nominated capacity is used."""
        known = self._later.get(dimension)
        if known is None:
            amounts = IdleAmounts(self._ledger, dimension, later=True)
            known = self._later[dimension] = DomainSums(self._tree, self._ledger, amounts)
        return known.now()


class PackingArguments(Arguments):
    cpu: int = Argument("hypernode.binpack.cpu", 1, "Weight of cpu in the fill level of a domain.", minimum=0)
    memory: int = Argument("hypernode.binpack.memory", 1, "Weight of memory in the fill level of a domain.", minimum=0)
    resources: str = Argument("hypernode.binpack.resources", "", "Further resources that count, separated by commas.")
    resource_weights: Mapping[str, int] = PrefixArgument(
        "hypernode.binpack.resources.<name>", 1, "Weight of a further resource.", minimum=0
    )


def weights_of(arguments: PackingArguments) -> dict[str, int]:
    """Return the weight of every resource that counts, by name."""
    names = (name.strip() for name in arguments.resources.split(","))
    weights = {name: arguments.resource_weights.get(name, 1) for name in names if name}
    return weights | {"cpu": arguments.cpu, "memory": arguments.memory}


class DomainPacking:
    """The used fractions of domains in the weighted resources, updated by the operations of the cycle."""

    def __init__(
        self,
        tree: HyperNodeTree,
        ledger: Ledger,
        axis: ResourceAxis,
        weights: Mapping[str, int],
        amounts: DomainAmounts,
    ) -> None:
        self._domains = len(tree.hyper_nodes)
        self._amounts = amounts
        found = ((axis.find(name), weight) for name, weight in weights.items())
        #: The weight of each resource that counts.
        self.weights: Mapping[int, int] = {d: weight for d, weight in found if d is not None and weight > 0}
        rows = ledger.all_rows
        self._capacity = {dimension: tree.sums(rows.allocatable(dimension)) for dimension in self.weights}
        self._divisors = {dimension: np.maximum(capacity, 1) for dimension, capacity in self._capacity.items()}

    def scores(self, request: Request) -> Vector:
        """Return for each domain the weighted mean of the used fractions with this much more; 0 where that exceeds the
        domain, and where no weighted resource is requested.
        """
        total, weights, exceeded = None, 0, list[Mask]()
        for dimension, amount in request:
            weight = self.weights.get(dimension)
            if weight is not None:
                fractions = self._fractions(dimension, amount, exceeded)
                total = fractions if total is None else np.add(total, fractions, out=total)
                weights += weight
        if total is None:
            return np.zeros(self._domains)
        total /= weights
        for mask in exceeded:
            np.putmask(total, mask, 0.0)
        return total

    def _fractions(self, dimension: int, more: int, exceeded: list[Mask]) -> Vector:
        """Return the weighted used fractions of one resource with this much more; note the domains it exceeds."""
        left = self._amounts.idle(dimension) - more
        exceeded.append(left < 0)
        used, weight = self._capacity[dimension] - left, self.weights[dimension]
        return (used if weight == 1 else weight * used) / self._divisors[dimension]


def sum_of(tasks: Iterable[Task]) -> Request:
    """Return the sum of the requests of tasks."""
    total: dict[int, int] = {}
    for task_class, number in numbers_of(tasks).items():
        for dimension, amount in task_class.request:
            total[dimension] = total.get(dimension, 0) + amount * number
    return tuple(total.items())
