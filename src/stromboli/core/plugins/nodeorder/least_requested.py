"""Prefer nodes that would have much cpu and memory left."""

from __future__ import annotations

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount, Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.resources.resources import CPU, MEMORY
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.nodeorder.requested import ALL, scored_request
from stromboli.core.plugins.nodeorder.weighted import WeightedScorer
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import Locality


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
        if rows.certain and ledger.is_scored_as_used and not task_class.is_scored_higher:
            used = rows.fraction_with(CPU, cpu) + rows.fraction_with(MEMORY, memory)
        else:
            used = _share_used(rows, CPU, cpu)
            used += _share_used(rows, MEMORY, memory)
        used *= self._half
        return np.subtract(self._top, used, out=used)


def _share_used(rows: Rows, dimension: int, request: Amount) -> Vector:
    share = (rows.scored_use(dimension) + request) / rows.capacity(dimension)
    return np.minimum(share, ALL, out=share)
