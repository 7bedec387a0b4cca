"""Avoid nodes with PreferNoSchedule taints that the pod does not tolerate."""

from __future__ import annotations

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Taint, Vector
from stromboli.core.model.nodes.taints import DISCOURAGING_EFFECT, taint_lists, tolerates
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.nodeorder.weighted import WeightedScorer
from stromboli.core.search.node_rules import Locality


class TaintToleration(WeightedScorer):
    """100 without PreferNoSchedule taints that the pod does not tolerate, 0 for the candidate with most of them."""

    locality = Locality.STATIC

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return taint_lists(ledger.nodes).has_effect(DISCOURAGING_EFFECT)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        distinct = taint_lists(ledger.nodes)
        counts = np.array([_discouraging(task_class, taints) for taints in distinct.lists], dtype=np.float64)
        raw = counts[distinct.codes]
        most = raw.max(initial=0.0) if candidates is None else raw[candidates].max(initial=0.0)
        return self.top - raw * (self.top / most) if most > 0 else np.full(len(rows), self.top)


def _discouraging(task_class: TaskClass, taints: tuple[Taint, ...]) -> int:
    """How many taints of a node are not welcome, though they do not forbid it."""
    discouraging = (taint for taint in taints if taint.effect == DISCOURAGING_EFFECT)
    return sum(not tolerates(task_class.tolerations, taint) for taint in discouraging)
