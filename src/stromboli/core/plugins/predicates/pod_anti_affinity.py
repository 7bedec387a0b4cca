"""Required anti-affinity: a pod goes nowhere near the pods it avoids."""

from __future__ import annotations

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.topology.label_domains import DomainCount, count_by_label, domains_without
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import Locality, NodeFilter

_REASON = Reason(Code.POD_ANTI_AFFINITY, "node(s) didn't match pod anti-affinity rules")


class PodAntiAffinity(NodeFilter):
    """No pod that a term selects is in the node's domain. A node without the label is in no domain, and passes."""

    locality = Locality.CLUSTER

    def __init__(self) -> None:
        self._avoided = ClassCache(_avoided)

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(task_class.anti_affinity)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return domains_without(self._avoided.of(task_class, ledger), ledger)

    def refusal(self, task_class: TaskClass) -> Reason:
        return _REASON


def _avoided(task_class: TaskClass, ledger: Ledger) -> tuple[DomainCount, ...]:
    numbered = ((term.topology_key, ledger.terms.find(term.term)) for term in dict.fromkeys(task_class.anti_affinity))
    return count_by_label(ledger.nodes, ((label, number, 1) for label, number in numbered if number is not None))
