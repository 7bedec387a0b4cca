"""Prefer domains by preferred affinity between pods, in both directions.

Preferences of existing pods count as well: a web server that prefers to be near its cache also attracts later caches.
The weights add up per domain; required affinity of existing pods does not count.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.tasks.owned_terms import OwnedTerms
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.topology.label_domains import DomainCount, count_by_label
from stromboli.core.plugins.nodeorder.weighted import WeightedScorer
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import Locality


class PreferredPodAffinity(WeightedScorer):
    """The weights of preferences about pods in the node's domains: 0 for the worst candidate, 100 for the best."""

    locality = Locality.CLUSTER

    def __init__(self, weight: int) -> None:
        super().__init__(weight)
        self._owned = OwnedTerms()
        self._preferences = ClassCache(self._count_preferences)

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(self._preferences.of(task_class, ledger))

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        raw = np.zeros(len(rows))
        for count in self._preferences.of(task_class, ledger):
            weights = count.per_domain(ledger)
            if weights is not None:
                raw += weights[count.domains.places]
        return self._normalised(raw, raw if candidates is None else raw[candidates])

    def _normalised(self, raw: Vector, compared: Vector) -> Vector:
        if not len(compared):
            return np.zeros(len(raw))
        worst, best = float(compared.min()), float(compared.max())
        return (raw - worst) * (self.top / (best - worst)) if best > worst else np.zeros(len(raw))

    def _count_preferences(self, task_class: TaskClass, ledger: Ledger) -> tuple[DomainCount, ...]:
        return count_by_label(ledger.nodes, self._kinds(task_class, ledger))

    def _kinds(self, task_class: TaskClass, ledger: Ledger) -> Iterator[tuple[str, int, int]]:
        for weight, term in task_class.preferred_affinity:
            number = ledger.terms.find(term.term)
            if number is not None:
                yield term.topology_key, number, weight
        for number, owned in self._owned.about(task_class, ledger.terms):
            if owned.weight:
                yield owned.topology_key, number, owned.weight
