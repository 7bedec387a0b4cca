"""Node selector and required node affinity."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.node_selection import chosen_nodes, selected_nodes
from stromboli.core.model.nodes.table import Index, Mask
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import Locality, NodeFilter

_WORDS = "node(s) didn't match Pod's node affinity/selector"
_SELECTOR_REASON = Reason(Code.NODE_SELECTOR, _WORDS)
_AFFINITY_REASON = Reason(Code.NODE_AFFINITY, _WORDS)


class NodeAffinity(NodeFilter):
    """Both must hold: every label of the selector, and at least one term of the affinity."""

    locality = Locality.STATIC

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(task_class.node_selector) or task_class.required_node_terms is not None

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return chosen_nodes(ledger.nodes, task_class)

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        """Both reasons have kube-scheduler's message; the code identifies the one to change."""
        unselected = refused & ~selected_nodes(ledger.nodes, task_class.node_selector)
        for reason, mask in ((_SELECTOR_REASON, unselected), (_AFFINITY_REASON, refused & ~unselected)):
            if mask.any():
                yield reason, np.flatnonzero(mask)
