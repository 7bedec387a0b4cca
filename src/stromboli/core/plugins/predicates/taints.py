"""Taints that the pod does not tolerate."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask
from stromboli.core.model.nodes.taints import REPELLING_EFFECTS, first_untolerated, taint_lists, tolerated_nodes
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import Locality, NodeFilter


class Taints(NodeFilter):
    """Every taint with effect NoSchedule or NoExecute must be tolerated."""

    locality = Locality.STATIC

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return taint_lists(ledger.nodes).has_effect(*REPELLING_EFFECTS)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return tolerated_nodes(ledger.nodes, task_class.tolerations)

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        """One group per taint in the way: the first of each node, which is the one to deal with."""
        distinct, rows = taint_lists(ledger.nodes), np.flatnonzero(refused)
        codes = distinct.codes[rows]
        groups: dict[str, list[Index]] = {}
        for code in np.flatnonzero(np.bincount(codes)).tolist():
            taint = first_untolerated(task_class.tolerations, distinct.lists[code])
            groups.setdefault(f"node(s) had untolerated taint {taint}", []).append(rows[codes == code])
        for words, parts in groups.items():
            yield Reason(Code.TAINT, words), np.sort(np.concatenate(parts)) if len(parts) > 1 else parts[0]
