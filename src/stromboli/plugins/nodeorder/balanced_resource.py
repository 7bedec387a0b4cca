"""Prefer nodes whose resources would be used evenly: memory that has no cpu left beside it is wasted.

The deviation is that of the used fractions of cpu, memory and, for classes that ask for one, GPUs. With two
fractions it is half their distance. With more it comes from the distances of all pairs, which needs no mean: their
squares sum up to n² times the variance. Resources that a node does not have are left out.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from stromboli.framework.class_memory import ClassMemory
from stromboli.framework.divisors import ONE, Divisors
from stromboli.framework.node_rules import Locality
from stromboli.model.books import Amount, Rows
from stromboli.model.ledger import Ledger
from stromboli.model.nodes import Mask, Vector
from stromboli.model.resources import CPU, MEMORY
from stromboli.model.task_class import TaskClass
from stromboli.plugins.nodeorder.weighted import WeightedScorer

if TYPE_CHECKING:
    from stromboli.framework.session import Session

GPU = "nvidia.com/gpu"


class BalancedResource(WeightedScorer):
    """100 where all fractions are equal, less the further they are apart. Pods that ask for nothing do not care."""

    locality = Locality.ROW

    def __init__(self, weight: int) -> None:
        super().__init__(weight)
        self._top = np.array(self.top)
        self._half = np.array(self.top / 2)
        self._gpu: int | None = None
        self._requests = ClassMemory(self._request)
        self._divisors = Divisors()

    def open(self, session: Session) -> None:
        self._gpu = session.axis.find(GPU)
        self._divisors.open(session.ledger)

    def concerns(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return any(dimension in (CPU, MEMORY, self._gpu) for dimension, _ in task_class.request)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        request = self._requests.of(task_class, ledger)
        if len(request) == 2:
            loss = self._distance(rows, request)
            loss *= self._half
        else:
            loss = self._deviation(rows, request)
            loss *= self._top
        return np.subtract(self._top, loss, out=loss)

    def _distance(self, rows: Rows, request: tuple[tuple[int, Amount], ...]) -> Vector:
        """How far the fractions of two resources are apart; 0 where the node has only one of them."""
        (left, left_amount), (right, right_amount) = request
        distance = self._fraction(rows, left, left_amount)
        distance -= self._fraction(rows, right, right_amount)
        np.abs(distance, out=distance)
        for present in (self._divisors.present(rows, left), self._divisors.present(rows, right)):
            if present is not None:
                distance *= present
        return distance

    def _deviation(self, rows: Rows, request: tuple[tuple[int, Amount], ...]) -> Vector:
        """The standard deviation of the fractions of the resources that a node has."""
        parts = [
            (self._fraction(rows, dimension, amount), self._divisors.present(rows, dimension))
            for dimension, amount in request
        ]
        squares = np.zeros(len(rows))
        for (one, one_present), (other, other_present) in combinations(parts, 2):
            distance = one - other
            distance *= distance
            for present in (one_present, other_present):
                if present is not None:
                    distance *= present
            squares += distance
        return np.sqrt(squares, out=squares) / _count_present([present for _, present in parts])

    def _fraction(self, rows: Rows, dimension: int, amount: Amount) -> Vector:
        needed = rows.used(dimension) + amount
        np.minimum(needed, rows.allocatable(dimension), out=needed)
        return needed / self._divisors.of(rows, dimension)

    def _request(self, task_class: TaskClass, ledger: Ledger) -> tuple[tuple[int, Amount], ...]:
        """The real request: a pod that asks for no memory leaves the fraction of memory as it is."""
        amounts = dict(task_class.request)
        dimensions = [CPU, MEMORY]
        if self._gpu is not None and self._gpu in amounts:
            dimensions.append(self._gpu)
        return tuple((d, np.array(amounts.get(d, 0), dtype=np.int64)) for d in dimensions)


def _count_present(masks: list[Mask | None]) -> Amount:
    """How many resources each node has, at least 1; a mask of None stands for every node."""
    count: Amount = np.array(sum(mask is None for mask in masks), dtype=np.int64)
    for mask in masks:
        if mask is not None:
            count = count + mask
    return np.maximum(count, ONE)
