"""Weights that follow past usage: what used more than its weight gets less for a while.

The formula is that of KAI's time-based fair share. With the normalised weight `n` of a queue among those that share an
amount, and the fraction `u` of it that the queue has used, the queue counts with `max(0, n + k * (n - u))`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
#: A rest within this distance of nothing is an error of division.
_CRUMB = 1e-3


@dataclass(frozen=True, slots=True)
class UsageWeighting:
    #: How strongly the past counts; 0 for not at all.
    strength: float
    #: Returns the fraction that a queue has used over time of what it shares with its siblings, by resource.
    used: Callable[[str], Vector]
    #: Returns the fraction of the cluster, for plugins that divide it among all queues without regard to their tree.
    used_of_cluster: Callable[[str], Vector]


def parts(weights: Vector, used: Vector, strength: float) -> Vector:
    """Return the parts of an amount, which add up to 1. Where all have used too much, the weights count alone."""
    whole = weights.sum()
    if not whole:
        return np.zeros_like(weights)
    normal = weights / whole
    following = np.where(weights > 0, np.maximum(normal + strength * (normal - used), 0.0), 0.0)
    total = following.sum()
    return following / total if total > 0 else normal


def divide(amount: float, weights: Vector, used: Vector, strength: float, wanted: Vector, least: Vector) -> Vector:
    """Divide an amount so that nothing is left while something is wanted, and each gets what it has at least. `least`
    is within `wanted`, and its sum within the amount.
    """
    given, is_open = np.zeros_like(wanted), wanted > 0
    while is_open.any() and amount > 0:
        portion = amount * parts(weights * is_open, used, strength)
        limited = np.clip(portion, least, wanted)
        excess = float((limited - portion)[is_open].sum())
        if abs(excess) <= _CRUMB:
            return np.where(is_open, limited, given)
        settled = is_open & ((limited > portion) if excess > 0 else (limited < portion))
        given = np.where(settled, limited, given)
        amount -= float(limited[settled].sum())
        is_open &= ~settled
    return given
