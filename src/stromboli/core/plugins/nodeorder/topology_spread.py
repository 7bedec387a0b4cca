"""Prefer domains with few matching pods: soft topology spread constraints.

A label with many values has few pods per domain, so its counts weigh more: by the logarithm of the number of
domains, as Kubernetes does. `max_skew - 1` is added to every count, which makes small differences matter less.
"""

from __future__ import annotations

import math

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.topology.topology_spread import SpreadDomains, SpreadPlan, spread_plan
from stromboli.core.plugins.nodeorder.weighted import WeightedScorer
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import Locality

#: The label that identifies a node: each is its own domain.
_HOSTNAME = "kubernetes.io/hostname"


class SoftTopologySpread(WeightedScorer):
    """100 for the candidates with the fewest matching pods around them; 0 for nodes that lack a label."""

    locality = Locality.CLUSTER

    def __init__(self, weight: int) -> None:
        super().__init__(weight)
        self._plans = ClassCache(_soft_plan)

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return any(not constraint.hard for constraint in task_class.spread)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        plan = self._plans.of(task_class, ledger)
        compared = plan.labelled if candidates is None else plan.labelled & candidates
        crowd = np.zeros(len(rows))
        for spread in plan.constraints:
            crowd += _crowd(spread, ledger, compared)
        return self._normalised(crowd, crowd[compared]) * plan.labelled

    def _normalised(self, crowd: Vector, compared: Vector) -> Vector:
        """The least crowded candidate gets 100; how little the most crowded gets depends on how far it is behind."""
        most = float(compared.max(initial=0.0))
        if not most:
            return np.full(len(crowd), self.top)
        return (most + float(compared.min()) - crowd) * (self.top / most)


def _crowd(spread: SpreadDomains, ledger: Ledger, compared: Mask) -> Vector:
    """Return the weighted count of one constraint for every node."""
    is_hostname = spread.constraint.topology_key == _HOSTNAME
    domains = np.count_nonzero(compared) if is_hostname else _count_domains(spread, compared)
    totals = spread.totals(ledger) * math.log(domains + 2)
    totals += spread.constraint.max_skew - 1
    return totals[spread.domains.places]


def _count_domains(spread: SpreadDomains, compared: Mask) -> int:
    """How many domains there are to choose from."""
    present = np.zeros(spread.domains.size, dtype=np.bool_)
    present[spread.domains.places[compared]] = True
    return int(np.count_nonzero(present))


def _soft_plan(task_class: TaskClass, ledger: Ledger) -> SpreadPlan:
    return spread_plan(task_class, [constraint for constraint in task_class.spread if not constraint.hard], ledger)
