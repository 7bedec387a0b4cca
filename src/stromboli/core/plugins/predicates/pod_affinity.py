"""Required affinity: a pod runs only where the pods it needs already are.

Kubernetes counts the pods that match all terms together. The cache joins the terms of a class accordingly: each counts
the same pods, under its own topology key.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import AffinityTerm, TaskClass
from stromboli.core.model.topology.label_domains import DomainCount, label_domains
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import Locality, NodeFilter

_REASON = Reason(Code.POD_AFFINITY, "node(s) didn't match pod affinity rules")


class PodAffinity(NodeFilter):
    """Every term has a matching pod in the node's domain; the first pod of a set with affinity to itself is allowed."""

    locality = Locality.CLUSTER

    def __init__(self) -> None:
        self._terms = ClassCache(_terms)

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(task_class.affinity)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        terms = self._terms.of(task_class, ledger)
        counts = [term.per_domain(ledger) for term in terms]
        admitted: Mask | None = None
        for term, count in zip(terms, counts, strict=True):
            if count is None or not count.any():
                return self._with_no_match(task_class, ledger, terms, counts)
            near = (count > 0)[term.domains.places]
            admitted = near if admitted is None else admitted & near
        return np.ones(len(rows), dtype=np.bool_) if admitted is None else admitted

    def refusal(self, task_class: TaskClass) -> Reason:
        return _REASON

    @staticmethod
    def _with_no_match(
        task_class: TaskClass, ledger: Ledger, terms: Sequence[DomainCount], counts: Sequence[Vector | None]
    ) -> Mask:
        """Some term is satisfied nowhere. The first pod of a set that refers to itself would wait for itself
        forever: it may go anywhere in a domain of every term.
        """
        if not (task_class.matches_own_affinity and _is_first(ledger, terms, counts)):
            return np.zeros(len(ledger.nodes), dtype=np.bool_)
        admitted = np.ones(len(ledger.nodes), dtype=np.bool_)
        for term in terms:
            admitted &= term.domains.places > 0
        return admitted


def _is_first(ledger: Ledger, terms: Sequence[DomainCount], counts: Sequence[Vector | None]) -> bool:
    """Whether surely no pod in a domain matches all terms: one term matches no pod, or none has a pod in a domain."""
    if not any(count is not None and count.any() for count in counts):
        return True
    return any(not _has_pods(ledger, term) for term in terms)


def _has_pods(ledger: Ledger, term: DomainCount) -> bool:
    tallies = (ledger.tally(number) for number, _ in term.kinds)
    return any(tally is not None and tally.any() for tally in tallies)


def _terms(task_class: TaskClass, ledger: Ledger) -> tuple[DomainCount, ...]:
    return tuple(_count(term, ledger) for term in dict.fromkeys(task_class.affinity))


def _count(term: AffinityTerm, ledger: Ledger) -> DomainCount:
    number = ledger.terms.find(term.term)
    return DomainCount(label_domains(ledger.nodes, term.topology_key), () if number is None else ((number, 1),))
