"""Prefer nodes by the preferred node affinity of the pod."""

from __future__ import annotations

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.nodeorder.weighted import WeightedScorer
from stromboli.core.search.node_rules import Locality


class PreferredNodeAffinity(WeightedScorer):
    """The weights of the preferred terms that a node matches, relative to the best candidate."""

    locality = Locality.STATIC

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(task_class.preferred_node_terms)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        raw = np.zeros(len(rows))
        for weight, term in task_class.preferred_node_terms:
            raw += weight * ledger.nodes.matching(term)
        best = raw.max(initial=0.0) if candidates is None else raw[candidates].max(initial=0.0)
        return raw * (self.top / best) if best > 0 else np.zeros(len(rows))
