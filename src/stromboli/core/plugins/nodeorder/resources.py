"""Scores by requested cpu and memory: least requested, most requested, and balanced.

The balance is the deviation of the used fractions of cpu, memory and, for classes that request one, GPUs. With two
fractions it is half their distance. With three it is computed from the distances of all pairs, without a mean: their
squares sum up to n² times the variance. A resource that a node does not have is left out; only resources that the class
does not request need this, because a node without a requested resource is filtered out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount, Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.resources.resources import CPU, MEMORY
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.nodeorder.weighted import WeightedScorer
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import FractionScore, Locality

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

#: An array without dimensions: NumPy takes it faster than a Python number.
NOTHING: Amount = np.array(0, dtype=np.int64)
ALL: Vector = np.array(1.0)
#: The standard deviation of three values, for the root of half the sum of the squared distances of all pairs.
_DEVIATION_PER_ROOT: Vector = np.array(np.sqrt(2) / 3)


def scored_request(task_class: TaskClass, ledger: Ledger) -> tuple[Amount, Amount]:
    """Return the request, with defaults for pods that request nothing."""
    cpu, memory = task_class.scored_request[CPU], task_class.scored_request[MEMORY]
    return np.array(cpu, dtype=np.int64), np.array(memory, dtype=np.int64)


class LeastRequested(WeightedScorer):
    """The mean of the shares of cpu and memory that are left with the pod on the node; 0 where it is too much."""

    locality = Locality.ROW

    def __init__(self, weight: int) -> None:
        super().__init__(weight)
        self._top = np.array(self.top)
        self._half = np.array(self.top / 2)
        self._requests = ClassCache(scored_request)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        cpu, memory = self._requests.of(task_class, ledger)
        used = _share_capped(rows, CPU, cpu)
        used += _share_capped(rows, MEMORY, memory)
        used *= self._half
        return np.subtract(self._top, used, out=used)

    def as_fractions(self, task_class: TaskClass, ledger: Ledger) -> FractionScore | None:
        return _mean_of_fractions(task_class, ledger, self.top, -self.top)


def _mean_of_fractions(task_class: TaskClass, ledger: Ledger, base: float, points: float) -> FractionScore | None:
    """Return a score by the mean of cpu and memory, if they are scored by the amounts in use, and both are requested: a
    node with capacity for the class may have more in use of what the class does not request than it has.
    """
    if task_class.is_scored_higher or not ledger.is_scored_as_used or 0 in task_class.scored_request:
        return None
    return FractionScore(base, {CPU: points / 2, MEMORY: points / 2})


def _share_capped(rows: Rows, dimension: int, request: Amount) -> Vector:
    share = (rows.scored_use(dimension) + request) / rows.capacity(dimension)
    return np.minimum(share, ALL, out=share)


class MostRequested(WeightedScorer):
    """The mean of the shares of cpu and memory in use with the pod on the node; 0 where it is too much."""

    locality = Locality.ROW

    def __init__(self, weight: int) -> None:
        super().__init__(weight)
        self._half = np.array(self.top / 2)
        self._requests = ClassCache(scored_request)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        cpu, memory = self._requests.of(task_class, ledger)
        shares = _share_used(rows, CPU, cpu)
        shares += _share_used(rows, MEMORY, memory)
        shares *= self._half
        return shares

    def as_fractions(self, task_class: TaskClass, ledger: Ledger) -> FractionScore | None:
        return _mean_of_fractions(task_class, ledger, 0.0, self.top)


def _share_used(rows: Rows, dimension: int, request: Amount) -> Vector:
    used = rows.scored_use(dimension) + request
    np.putmask(used, used > rows.allocatable(dimension), NOTHING)
    return used / rows.capacity(dimension)


GPU = "nvidia.com/gpu"


class _BalancePart(NamedTuple):
    """One of the compared resources, and the request of the class."""

    dimension: int
    amount: Amount
    is_requested: bool


class BalancedResource(WeightedScorer):
    """100 where all fractions are equal, less the further they are apart. Pods without requests get no score."""

    locality = Locality.ROW

    def __init__(self, weight: int) -> None:
        super().__init__(weight)
        self._top = np.array(self.top)
        self._half = np.array(self.top / 2)
        self._gpu: int | None = None
        self._parts = ClassCache(self._parts_of, lasts=True)

    def open(self, session: Session) -> None:
        self._gpu = session.axis.find(GPU)

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return any(part.is_requested for part in self._parts.of(task_class, ledger))

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        parts = self._parts.of(task_class, ledger)
        if len(parts) == 2:
            loss = _distance(rows, *parts)
            loss *= self._half
        else:
            loss = _deviation(rows, *parts)
            loss *= self._top
        return np.subtract(self._top, loss, out=loss)

    def _parts_of(self, task_class: TaskClass, ledger: Ledger) -> tuple[_BalancePart, ...]:
        """Use the real request: a pod that requests no memory does not change the fraction of memory."""
        amounts = dict(task_class.request)
        compared = [CPU, MEMORY]
        if self._gpu is not None and self._gpu in amounts:
            compared.append(self._gpu)
        return tuple(_BalancePart(d, np.array(amounts.get(d, 0), dtype=np.int64), d in amounts) for d in compared)


def _distance(rows: Rows, one: _BalancePart, other: _BalancePart) -> Vector:
    """Return how far two fractions are apart; 0 where the node has only one of the resources."""
    distance = rows.fraction_with(one.dimension, one.amount) - rows.fraction_with(other.dimension, other.amount)
    np.abs(distance, out=distance)
    return distance if one.is_requested and other.is_requested else _where_present(rows, distance, one, other)


def _deviation(rows: Rows, one: _BalancePart, two: _BalancePart, three: _BalancePart) -> Vector:
    """The standard deviation of three fractions, or of those of the resources that the node has."""
    first = rows.fraction_with(one.dimension, one.amount)
    second = rows.fraction_with(two.dimension, two.amount)
    third = rows.fraction_with(three.dimension, three.amount)
    if one.is_requested and two.is_requested and three.is_requested:  # then every node that counts has all of them
        return _deviation_of_three(first, second, third)
    total = _where_present(rows, _square(first, second), one, two)
    total += _where_present(rows, _square(second, third), two, three)
    total += _where_present(rows, _square(third, first), three, one)
    np.sqrt(total, out=total)
    total /= _count(rows, one, two, three)
    return total


def _deviation_of_three(first: Vector, second: Vector, third: Vector) -> Vector:
    """With the distances d of the first two and e of the last two, half the sum of the squares is d² + e (d + e)."""
    total, other = first - second, second - third
    both = total + other
    both *= other
    total *= total
    total += both
    np.sqrt(total, out=total)
    total *= _DEVIATION_PER_ROOT
    return total


def _square(one: Vector, other: Vector) -> Vector:
    distance = one - other
    distance *= distance
    return distance


def _where_present(rows: Rows, distance: Vector, *parts: _BalancePart) -> Vector:
    for part in parts:
        if not part.is_requested:
            distance *= rows.allocatable(part.dimension) > 0
    return distance


def _count(rows: Rows, *parts: _BalancePart) -> Vector | float:
    """Return how many of the resources each node has."""
    count: Vector | float = float(len(parts))
    for part in parts:
        if not part.is_requested:
            count = count - (rows.allocatable(part.dimension) == 0)
    return count
