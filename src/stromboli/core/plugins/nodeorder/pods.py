"""Scores by other pods: preferred affinity in both directions, and soft topology spread constraints.

Preferences of existing pods count as well: a web server that prefers to be near its cache also attracts later caches.
Required affinity of existing pods does not count. The counts of a label with many values weigh more: by the logarithm
of the number of domains, as in Kubernetes. `max_skew - 1` is added to every count: small differences matter less.
"""

from __future__ import annotations

import math

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.tasks.pod_terms import OwnedTerms
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.topology.label_domains import (
    DomainCount,
    LabelDomains,
    OwnedCounts,
    are_fed_by,
    count_by_label,
)
from stromboli.core.model.topology.topology_spread import SpreadDomains, SpreadPlan, spread_plan
from stromboli.core.plugins.nodeorder.weighted import WeightedScorer
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import Locality


class PreferredPodAffinity(WeightedScorer):
    """The weights of preferences about pods in the node's domains: 0 for the worst candidate, 100 for the best."""

    locality = Locality.CLUSTER

    def __init__(self, weight: int) -> None:
        super().__init__(weight)
        self._owned = OwnedTerms(required=False)
        self._own = ClassCache(_own_preferences, lasts=True)
        self._preferences = ClassCache(self._count_preferences)
        self._counts = OwnedCounts()

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(self._preferences.of(task_class, ledger))

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        by_label: dict[LabelDomains, Vector] = {}
        for count in self._preferences.of(task_class, ledger):
            weights = count.per_domain(ledger)
            if weights is not None:
                others = by_label.get(count.domains)
                by_label[count.domains] = weights if others is None else others + weights
        if not by_label:
            return np.zeros(len(rows))
        everywhere = candidates is None or np.count_nonzero(candidates) == len(candidates)
        (domains, raw), *further = by_label.items()
        if not further and everywhere:
            return self._normalised(raw, raw[domains.first :]).take(domains.places)
        raw = raw.take(domains.places)
        for domains, weights in further:
            raw = raw + weights.take(domains.places)
        return self._normalised(raw, raw if everywhere else raw[candidates])

    def is_neutral(self, task_class: TaskClass, ledger: Ledger) -> bool:
        if task_class.preferred_affinity:
            return False
        return all(count.per_domain(ledger) is None for count in self._preferences.of(task_class, ledger))

    def is_steady(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return not are_fed_by(self._preferences.of(task_class, ledger), task_class, ledger)

    def _normalised(self, raw: Vector, compared: Vector) -> Vector:
        if not len(compared):
            return np.zeros(len(raw))
        worst, best = float(compared[compared.argmin()]), float(compared[compared.argmax()])
        return (raw - worst) * (self.top / (best - worst)) if best > worst else np.zeros(len(raw))

    def _count_preferences(self, task_class: TaskClass, ledger: Ledger) -> tuple[DomainCount, ...]:
        owned = self._counts.of(self._owned.about(task_class, ledger.terms), ledger)
        if not task_class.preferred_affinity:
            return owned
        return (*count_by_label(ledger.nodes, self._own.of(task_class, ledger)), *owned)


def _own_preferences(task_class: TaskClass, ledger: Ledger) -> tuple[tuple[str, int, int], ...]:
    """Return the preferences of the class itself: label, number of the term, weight."""
    find = ledger.terms.find
    numbered = ((term.topology_key, find(term.term), weight) for weight, term in task_class.preferred_affinity)
    return tuple((key, number, weight) for key, number, weight in numbered if number is not None)


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
        """Scale counts to scores as kube-scheduler does: `(max + min - count) / max`, times the best score."""
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
    """Return how many domains there are to choose from."""
    present = np.zeros(spread.domains.size, dtype=np.bool_)
    present[spread.domains.places[compared]] = True
    return int(np.count_nonzero(present))


def _soft_plan(task_class: TaskClass, ledger: Ledger) -> SpreadPlan:
    return spread_plan(task_class, [constraint for constraint in task_class.spread if not constraint.hard], ledger)
