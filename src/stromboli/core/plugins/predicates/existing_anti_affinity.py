"""Anti-affinity of existing pods: they reject the incoming pod."""

from __future__ import annotations

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.owned_terms import OwnedTerms
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.topology.label_domains import DomainCount, count_by_label, domains_without
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import Locality, NodeFilter

_REASON = Reason(Code.EXISTING_ANTI_AFFINITY, "node(s) didn't satisfy existing pods anti-affinity rules")


class ExistingAntiAffinity(NodeFilter):
    """No pod whose required anti-affinity selects the class is in the node's domain."""

    locality = Locality.CLUSTER

    def __init__(self) -> None:
        self._owned = OwnedTerms()
        self._owners = ClassCache(self._count_owners)

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        """By the terms alone: the pods that carry them may be placed in this very cycle."""
        return bool(self._owners.of(task_class, ledger))

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return domains_without(self._owners.of(task_class, ledger), ledger)

    def refusal(self, task_class: TaskClass) -> Reason:
        return _REASON

    def _count_owners(self, task_class: TaskClass, ledger: Ledger) -> tuple[DomainCount, ...]:
        about = self._owned.about(task_class, ledger.terms)
        required = ((owned.topology_key, number, 1) for number, owned in about if owned.weight == 0)
        return count_by_label(ledger.nodes, required)
