"""Hard topology spread constraints: no domain may get too far ahead of the emptiest one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.topology.topology_spread import SpreadDomains, SpreadPlan, spread_plan
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import Locality, NodeFilter

_SKEW_REASON = Reason(Code.TOPOLOGY_SPREAD, "node(s) didn't match pod topology spread constraints")
_LABEL_REASON = Reason(Code.TOPOLOGY_SPREAD, f"{_SKEW_REASON.detail} (missing required label)")


class TopologySpread(NodeFilter):
    """With one more pod, the node's domain has at most `max_skew` pods more than the domain with the fewest."""

    locality = Locality.CLUSTER

    def __init__(self) -> None:
        self._plans = ClassCache(_hard_plan)

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return any(constraint.hard for constraint in task_class.spread)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        first, *others = self._plans.of(task_class, ledger).constraints
        admitted = _within_skew(first, ledger)
        for constraint in others:
            admitted &= _within_skew(constraint, ledger)
        return admitted

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        """Report a missing label first: no terminating pod resolves it."""
        labelled = self._plans.of(task_class, ledger).labelled
        for reason, mask in ((_LABEL_REASON, refused & ~labelled), (_SKEW_REASON, refused & labelled)):
            if mask.any():
                yield reason, np.flatnonzero(mask)


def _within_skew(spread: SpreadDomains, ledger: Ledger) -> Mask:
    totals = spread.totals(ledger)
    constraint = spread.constraint
    most = spread.fewest(totals) + constraint.max_skew - constraint.matches_itself
    verdicts = totals <= most
    verdicts[0] = False  # a node without the label is in no domain
    return verdicts[spread.domains.places]


def _hard_plan(task_class: TaskClass, ledger: Ledger) -> SpreadPlan:
    return spread_plan(task_class, [constraint for constraint in task_class.spread if constraint.hard], ledger)
