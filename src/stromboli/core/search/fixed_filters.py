"""Filters of every configuration: nodes of other shards, and nodes that recently rejected a pod.

Pods on nodes of other shards are not evicted either. If a scheduler may use these nodes as a last resort, the search
tries its own nodes first; see `NodeSearch.groups`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import Locality, NodeFilter

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_OTHER_SHARD = Reason(Code.OUTSIDE_SHARD, "node(s) didn't belong to this scheduler's shard")
_RECENTLY_REJECTED = Reason(Code.NODE_REJECTED, "node(s) recently rejected the pod")


class ShardFilter(NodeFilter):
    """Refuses nodes of other shards. Applies in every configuration, before all rules of plugins."""

    locality = Locality.STATIC
    name = "shard"

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return ledger.nodes.excluded_nodes is not None

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        excluded_nodes = ledger.nodes.excluded_nodes
        return np.ones(len(rows), dtype=np.bool_) if excluded_nodes is None else ~excluded_nodes

    def refusal(self, task_class: TaskClass) -> Reason:
        return _OTHER_SHARD


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
        return _RECENTLY_REJECTED


SHARD_FILTER = ShardFilter()
AVOIDED_NODES = AvoidedNodesFilter()


def is_in_excluded_shard(session: Session, task: Task) -> bool:
    """Report whether a task runs on a node of an excluded shard."""
    excluded_nodes = session.nodes.excluded_nodes
    return excluded_nodes is not None and (row := session.ledger.row_of(task)) >= 0 and bool(excluded_nodes[row])
