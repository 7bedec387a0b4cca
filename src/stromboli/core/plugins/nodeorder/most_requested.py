"""Prefer nodes that would have much of their cpu and memory in use."""

from __future__ import annotations

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount, Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.resources.resources import CPU, MEMORY
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.nodeorder.requested import NOTHING, scored_request
from stromboli.core.plugins.nodeorder.weighted import WeightedScorer
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import Locality


class MostRequested(WeightedScorer):
    """The mean of the shares of cpu and memory in use with the pod on the node; 0 where it is too much."""

    locality = Locality.ROW

    def __init__(self, weight: int) -> None:
        super().__init__(weight)
        self._half = np.array(self.top / 2)
        self._requests = ClassCache(scored_request)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        cpu, memory = self._requests.of(task_class, ledger)
        shares = _share_used(rows, CPU, cpu)
        shares += _share_used(rows, MEMORY, memory)
        shares *= self._half
        return shares


def _share_used(rows: Rows, dimension: int, request: Amount) -> Vector:
    used = rows.scored_use(dimension) + request
    np.putmask(used, used > rows.allocatable(dimension), NOTHING)
    return used / rows.capacity(dimension)
