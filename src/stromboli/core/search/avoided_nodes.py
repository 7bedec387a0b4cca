"""Nodes that recently rejected a pod are not candidates for it, whatever plugins decide."""

from __future__ import annotations

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import Locality, NodeFilter

_REASON = Reason(Code.NODE_REJECTED, "node(s) recently rejected the pod")


class AvoidedNodesFilter(NodeFilter):
    """Applies in every configuration. Tasks that avoid nodes have classes of their own."""

    locality = Locality.STATIC
    name = "avoidance"

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(task_class.avoided)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        admitted = np.ones(len(rows), dtype=np.bool_)
        index = ledger.nodes.index
        admitted[[index[name] for name in task_class.avoided if name in index]] = False
        return admitted

    def refusal(self, task_class: TaskClass) -> Reason:
        return _REASON


AVOIDED_NODES = AvoidedNodesFilter()
