"""Cordoned nodes and nodes that are not ready."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, NodeTable, Taint
from stromboli.core.model.nodes.taints import tolerates
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import Locality, NodeFilter

_CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
#: The effect matters: admission gives every pod a toleration of `not-ready:NoExecute`, which means that a running
#: pod may stay for a while, not that a new one should come.
_NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")

_UNSCHEDULABLE_REASON = Reason(Code.NODE_UNSCHEDULABLE, "node(s) were unschedulable")
_NOT_READY_REASON = Reason(Code.NODE_NOT_READY, "node(s) were not ready")


class Availability(NodeFilter):
    """A cordoned node takes only pods that tolerate the taint of cordoning; likewise a node that is not ready."""

    locality = Locality.STATIC

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(_cordoned(ledger.nodes).any() or _unready(ledger.nodes).any())

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        refused = np.zeros(len(ledger.nodes), dtype=np.bool_)
        if not tolerates(task_class.tolerations, _CORDONED):
            refused |= _cordoned(ledger.nodes)
        if not tolerates(task_class.tolerations, _NOT_READY):
            refused |= _unready(ledger.nodes)
        return ~refused

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        cordoned = refused & _cordoned(ledger.nodes)
        if tolerates(task_class.tolerations, _CORDONED):
            cordoned[:] = False
        for reason, mask in ((_UNSCHEDULABLE_REASON, cordoned), (_NOT_READY_REASON, refused & ~cordoned)):
            if mask.any():
                yield reason, np.flatnonzero(mask)


def _cordoned(nodes: NodeTable) -> Mask:
    known: Mask = nodes.remember("cordoned nodes", lambda table: table.where(lambda node: node.unschedulable))
    return known


def _unready(nodes: NodeTable) -> Mask:
    known: Mask = nodes.remember("unready nodes", lambda table: table.where(lambda node: not node.ready))
    return known
