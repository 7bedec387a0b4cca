"""How evenly a policy treats queues and users.

The deserved share of a queue is the fair one by weight: the capacity is divided among the queues in proportion to their
weights, no queue gets more than it requests, and what it leaves is divided among the others. It depends on the
requests of the moment, and is the same for every policy that serves them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stromboli.lab.measures.usage import capacity_of, primary_resource, queue_usage
from stromboli.lab.measures.waiting import queue_demand
from stromboli.lab.measures.windows import Series, Windows
from stromboli.simulator.results.run import SimulationRun
from stromboli.simulator.results.summary import groups_of, slowdown_of


def fair_shares(demand: NDArray[np.float64], weights: Series) -> NDArray[np.float64]:
    """Return the deserved fractions of a capacity of 1, by queue and window, for demand in the same unit."""
    shares = np.zeros_like(demand)
    left = np.ones(demand.shape[1])
    is_open = demand > 0
    for _ in range(len(weights)):
        sums = (is_open * weights[:, None]).sum(axis=0)
        offer = np.divide(left, sums, out=np.zeros_like(left), where=sums > 0)
        served = is_open & (demand <= offer * weights[:, None])
        if not served.any():
            break
        # queues whose whole demand fits their part leave the rest to the others
        windows = served.any(axis=0)
        shares = np.where(served, demand, shares)
        left = np.where(windows, np.maximum(left - (served * demand).sum(axis=0), 0.0), left)
        is_open &= ~served
    sums = (is_open * weights[:, None]).sum(axis=0)
    offer = np.divide(left, sums, out=np.zeros_like(left), where=sums > 0)
    return np.where(is_open, offer * weights[:, None], shares)


def deserved_over_time(run: SimulationRun, windows: Windows) -> tuple[Mapping[str, Series], Mapping[str, Series]]:
    """Return the fractions of the primary resource that queues used, and those that they deserved."""
    resource = primary_resource(run)
    used, waiting = queue_usage(run, windows), queue_demand(run, windows, resource)
    names, capacity = list(used), max(capacity_of(run, resource), 1)
    demand = np.array([used[name] + waiting[name] / capacity for name in names]).reshape(len(names), len(windows))
    weights = np.array([run.weights.get(name, 1.0) for name in names])
    shares = fair_shares(demand, weights)
    return used, dict(zip(names, shares, strict=True))


def deviation_of(run: SimulationRun, windows: Windows) -> float:
    """Return the mean over time of the part of the capacity that is used by another queue than deserves it, or by none
    although a queue deserves it.
    """
    used, deserved = deserved_over_time(run, windows)
    gap: Series = sum((np.abs(used[name] - deserved[name]) for name in used), np.zeros(len(windows)))
    return float(gap.mean() / 2)


def jain_index(values: Series) -> float | None:
    """Return Jain's index of equality: 1 if all values are equal, 1/n if one of n has everything."""
    known = values[~np.isnan(values)]
    squares = float((known**2).sum())
    return float(known.sum()) ** 2 / (len(known) * squares) if squares else None


def equality_of(run: SimulationRun, by: str) -> float | None:
    """Return Jain's index of the mean bounded slowdowns of queues or users, None without any."""
    slowdown = slowdown_of(run.jobs)
    means = []
    for name, chosen in groups_of(run.jobs, by):
        known = slowdown[chosen & ~np.isnan(slowdown)]
        if name and len(known):
            means.append(float(known.mean()))
    return jain_index(np.array(means))
