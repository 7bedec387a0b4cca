"""Rules about other pods: required affinity, anti-affinity in both directions, and hard topology spread.

Kubernetes counts the pods that match all affinity terms together. The cache joins the terms of a class accordingly:
each counts the same pods, under its own topology key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.pod_terms import OwnedTerms
from stromboli.core.model.tasks.task_class import AffinityTerm, TaskClass
from stromboli.core.model.topology.label_domains import (
    DomainCount,
    OwnedCounts,
    are_fed_by,
    count_by_label,
    domains_without,
    label_domains,
)
from stromboli.core.model.topology.topology_spread import SpreadDomains, SpreadPlan, spread_plan
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import Locality, NodeFilter

_AFFINITY_REASON = Reason(Code.POD_AFFINITY, "node(s) didn't match pod affinity rules")


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
            if count is None:
                return self._with_no_match(task_class, ledger, terms, counts)
            near = (count > 0)[term.domains.places]
            admitted = near if admitted is None else admitted & near
        return np.ones(len(rows), dtype=np.bool_) if admitted is None else admitted

    def is_steady(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return not are_fed_by(self._terms.of(task_class, ledger), task_class, ledger)

    def refusal(self, task_class: TaskClass) -> Reason:
        return _AFFINITY_REASON

    @staticmethod
    def _with_no_match(
        task_class: TaskClass, ledger: Ledger, terms: Sequence[DomainCount], counts: Sequence[Vector | None]
    ) -> Mask:
        """Return the accepted nodes if some term is satisfied nowhere: none, except for the first pod of a set with
        affinity to itself, which may use every node that is in a domain of every term.
        """
        if not (task_class.matches_own_affinity and _is_first(ledger, terms, counts)):
            return np.zeros(len(ledger.nodes), dtype=np.bool_)
        admitted = np.ones(len(ledger.nodes), dtype=np.bool_)
        for term in terms:
            admitted &= term.domains.places > 0
        return admitted


def _is_first(ledger: Ledger, terms: Sequence[DomainCount], counts: Sequence[Vector | None]) -> bool:
    """Report whether no pod in a domain can match all terms: a term matches no pod, or none has a pod in a domain."""
    if all(count is None for count in counts):
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


_ANTI_AFFINITY_REASON = Reason(Code.POD_ANTI_AFFINITY, "node(s) didn't match pod anti-affinity rules")


class PodAntiAffinity(NodeFilter):
    """No pod that a term selects is in the node's domain. A node without the label is in no domain, and passes."""

    locality = Locality.CLUSTER

    def __init__(self) -> None:
        self._avoided = ClassCache(_avoided)

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(task_class.anti_affinity)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return domains_without(self._avoided.of(task_class, ledger), ledger)

    def is_steady(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return not are_fed_by(self._avoided.of(task_class, ledger), task_class, ledger)

    def refusal(self, task_class: TaskClass) -> Reason:
        return _ANTI_AFFINITY_REASON


def _avoided(task_class: TaskClass, ledger: Ledger) -> tuple[DomainCount, ...]:
    numbered = ((term.topology_key, ledger.terms.find(term.term)) for term in dict.fromkeys(task_class.anti_affinity))
    return count_by_label(ledger.nodes, ((label, number, 1) for label, number in numbered if number is not None))


_EXISTING_REASON = Reason(Code.EXISTING_ANTI_AFFINITY, "node(s) didn't satisfy existing pods anti-affinity rules")


class ExistingAntiAffinity(NodeFilter):
    """No pod whose required anti-affinity selects the class is in the node's domain."""

    locality = Locality.CLUSTER

    def __init__(self) -> None:
        self._owned = OwnedTerms(required=True)
        self._owners = ClassCache(self._count_owners)
        self._counts = OwnedCounts()

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        """Decide by the terms alone: pods with such terms may be placed in this cycle."""
        return bool(self._owners.of(task_class, ledger))

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return domains_without(self._owners.of(task_class, ledger), ledger)

    def is_neutral(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return all(count.per_domain(ledger) is None for count in self._owners.of(task_class, ledger))

    def is_steady(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return not are_fed_by(self._owners.of(task_class, ledger), task_class, ledger)

    def refusal(self, task_class: TaskClass) -> Reason:
        return _EXISTING_REASON

    def _count_owners(self, task_class: TaskClass, ledger: Ledger) -> tuple[DomainCount, ...]:
        return self._counts.of(self._owned.about(task_class, ledger.terms), ledger)


_SKEW_REASON = Reason(Code.TOPOLOGY_SPREAD, "node(s) didn't match pod topology spread constraints")
_LABEL_REASON = Reason(
    Code.TOPOLOGY_SPREAD, f"{_SKEW_REASON.detail} (missing required label)", short="topology label missing"
)


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
