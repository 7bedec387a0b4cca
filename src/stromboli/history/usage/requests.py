"""Recorded requests as exact amounts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.resources.resources import counts_in_milli


@lru_cache(maxsize=4096)
def axis_amounts(requests: str) -> tuple[tuple[str, int], ...]:
    """Return the amounts of recorded requests by resource name, in the units of the resource axis, and one pod."""
    recorded = json.loads(requests)
    parsed = ((name, parse_quantity(str(text), milli=counts_in_milli(name))) for name, text in recorded.items())
    return (*parsed, ("pods", 1))


@lru_cache(maxsize=4096)
def amounts_of(requests: str) -> Sequence[tuple[str, Fraction]]:
    """Return the amounts of recorded requests by resource name: processors, bytes, devices."""
    units = ((name, amount, 1000 if counts_in_milli(name) else 1) for name, amount in axis_amounts(requests))
    return tuple((name, Fraction(amount, unit)) for name, amount, unit in units if name != "pods")
