"""How many pods a node may run."""

from __future__ import annotations

from stromboli.framework.node_rules import Locality, NodeFilter
from stromboli.model.books import Rows
from stromboli.model.ledger import Ledger
from stromboli.model.nodes import Mask
from stromboli.model.reasons import Code, Reason
from stromboli.model.resources import PODS
from stromboli.model.task_class import TaskClass

_REASON = Reason(Code.TOO_MANY_PODS, "node(s) pod number exceeded")


class PodCount(NodeFilter):
    """A node takes one more pod as long as it has a slot, now or once what is being released is gone.

    A class that asks for its slot like for any other resource is already held to this wherever room is
    compared, and is spared a second question on every visit.
    """

    locality = Locality.ROW

    def concerns(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return all(dimension != PODS for dimension, _ in task_class.request)

    def admits(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return rows.future_idle(PODS) >= 1

    def refusal(self, task_class: TaskClass) -> Reason:
        return _REASON
