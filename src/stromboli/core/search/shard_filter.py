"""Nodes of other shards: never candidates, and pods on them are not evicted.

If a scheduler may use them as a last resort, the search tries its own nodes first; see `NodeSearch.groups`.
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

_REASON = Reason(Code.OUTSIDE_SHARD, "node(s) didn't belong to this scheduler's shard")


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
        return _REASON


SHARD_FILTER = ShardFilter()


def is_in_excluded_shard(session: Session, task: Task) -> bool:
    """Report whether a task runs on a node of an excluded shard."""
    excluded_nodes = session.nodes.excluded_nodes
    return excluded_nodes is not None and (row := session.ledger.row_of(task)) >= 0 and bool(excluded_nodes[row])
