"""Fair shares: what a queue deserves, and its part of the surplus, limited by what it requests and may have."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from stromboli.core.model.usage.weighting import parts

#: Weights that follow past usage count in parts of so many.
_PARTS = 1_000_000_000


class Demand(NamedTuple):
    """What one of the queues that share an amount deserves, and how much of it it could use."""

    deserved: int
    #: The request, within the limit of the queue.
    usable: int
    #: The weight in the division of the surplus; 0 for none of it.
    weight: int
    priority: int
    #: Among equal remainders, the smaller one comes first.
    order: tuple[float, str]
    #: The fraction of the amount that the queue has used over time.
    used: float = 0.0


def fair_shares(amount: int, demands: Sequence[Demand], unit: int, strength: float = 0.0) -> list[int]:
    """Divide an amount: first what each queue deserves, then the surplus by priority and weight, in whole units.

    Deserved amounts count even where their sum exceeds the amount; then there is no surplus. `strength` is how strongly
    past usage counts.
    """
    shares = [min(demand.deserved, demand.usable) for demand in demands]
    surplus = max(amount - sum(shares), 0)
    places = sorted(range(len(demands)), key=lambda place: -demands[place].priority)
    for _, group in groupby(places, key=lambda place: demands[place].priority):
        surplus = _divide(surplus, list(group), demands, shares, unit, strength)
    return shares


def _divide(
    surplus: int, group: Sequence[int], demands: Sequence[Demand], shares: list[int], unit: int, strength: float
) -> int:
    """Divide the surplus by weight among queues of one priority; return what is left."""
    while surplus > 0:
        unsatisfied = [place for place in group if demands[place].weight and shares[place] < demands[place].usable]
        weight_of = _weights([demands[place] for place in unsatisfied], strength)
        weights = sum(weight_of)
        given, remainders = 0, list[tuple[int, tuple[float, str], int]]()
        for place, weight in zip(unsatisfied, weight_of, strict=True):
            demand = demands[place]
            part, missing = surplus * weight // weights, demand.usable - shares[place]
            whole = missing if missing <= part else part // unit * unit
            if missing > part:
                remainders.append((whole * weights - surplus * weight, demand.order, place))
            shares[place] += whole
            given += whole
        surplus -= given
        if len(remainders) == len(unsatisfied):
            return _divide_remainder(surplus, remainders, demands, shares, unit)
    return surplus


def _weights(demands: Sequence[Demand], strength: float) -> list[int]:
    weights = [demand.weight for demand in demands]
    if not strength or not weights:
        return weights
    used = np.array([demand.used for demand in demands])
    return np.rint(parts(np.array(weights, dtype=np.float64), used, strength) * _PARTS).astype(int).tolist()


def _divide_remainder(
    surplus: int,
    remainders: list[tuple[int, tuple[float, str], int]],
    demands: Sequence[Demand],
    shares: list[int],
    unit: int,
) -> int:
    """Give one unit each to the queues that lost most by rounding; return what is left."""
    for _, _, place in sorted(remainders):
        more = min(unit, surplus, demands[place].usable - shares[place])
        shares[place] += more
        surplus -= more
    return surplus
