"""PodDisruptionBudgets: which pods each of them selects, and how many of these may be evicted now."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from stromboli import kube
from stromboli.cluster.objects.pods.constraints import selector_of
from stromboli.cluster.objects.pods.pods import PodRecord
from stromboli.core.model.tasks.disruption_budgets import Budgets
from stromboli.core.model.tasks.selectors import NOTHING, LabelSelector
from stromboli.kube.objects.cluster import PodDisruptionBudget


@dataclass(frozen=True, slots=True)
class _BudgetEntry:
    budget: PodDisruptionBudget
    selector: LabelSelector


class DisruptionBudgets:
    """All budgets. Pods are matched when they or the budgets change, not for every snapshot."""

    def __init__(self) -> None:
        #: Whether budgets protect pods from evictions.
        self.are_enforced = True
        self._entries: dict[str, _BudgetEntry] = {}
        #: Budgets that select a pod, by the pod's uid.
        self._members: dict[str, tuple[str, ...]] = {}
        self._changed: set[str] = set()
        self._is_outdated = False

    def objects(self) -> list[PodDisruptionBudget]:
        return [entry.budget for entry in self._entries.values()]

    def apply(self, budget: PodDisruptionBudget) -> None:
        known = self._entries.get(budget.key)
        same = known is not None and known.budget.spec.selector == budget.spec.selector
        selector = known.selector if known is not None and same else _selector(budget)
        self._entries[budget.key] = _BudgetEntry(budget, selector)
        self._is_outdated = self._is_outdated or not same

    def remove(self, budget: PodDisruptionBudget) -> None:
        self._is_outdated = self._entries.pop(budget.key, None) is not None or self._is_outdated

    def touch(self, uid: str) -> None:
        """Match a pod again: it was added, changed or removed."""
        if self._entries:
            self._changed.add(uid)

    def budgets(self, records: Mapping[str, PodRecord], leaving: Collection[str]) -> Budgets:
        """The budgets now; `leaving` are pods whose eviction has started and may not be visible yet."""
        if not self._entries or not self.are_enforced:
            self._members, self._changed, self._is_outdated = {}, set(), True
            return Budgets()
        self._match(records)
        names = sorted(self._entries)
        numbers = {name: number for number, name in enumerate(names)}
        chosen: dict[str, list[kube.Pod]] = {name: [] for name in names}
        of_task = {}
        for uid, members in self._members.items():
            of_task[uid] = tuple(numbers[name] for name in members)
            for name in members:
                chosen[name].append(records[uid].pod)
        left = [_allowed(self._entries[name].budget, chosen[name], leaving) for name in names]
        return Budgets(names, left, of_task)

    def _match(self, records: Mapping[str, PodRecord]) -> None:
        if self._is_outdated:
            self._members, self._changed, self._is_outdated = {}, set(records), False
        by_namespace: dict[str, list[tuple[str, LabelSelector]]] = {}
        for key, entry in sorted(self._entries.items()):
            by_namespace.setdefault(entry.budget.metadata.namespace, []).append((key, entry.selector))
        for uid in self._changed:
            record = records.get(uid)
            selectors = by_namespace.get(record.pod.metadata.namespace, []) if record else []
            labels = (record.pod.metadata.labels if record else None) or {}
            members = tuple(key for key, selector in selectors if selector.matches(labels))
            self._members.pop(uid, None)
            if members:
                self._members[uid] = members
        self._changed = set()


def relevant_fields(budget: PodDisruptionBudget) -> tuple[object, ...]:
    return budget.spec, budget.status.disruptions_allowed, budget.status.disrupted_pods


def _selector(budget: PodDisruptionBudget) -> LabelSelector:
    """Pods that a budget selects; none if the selector is invalid."""
    if budget.spec.selector is None:
        return NOTHING
    try:
        return selector_of(budget.spec.selector, "spec.selector")
    except ValueError:
        return NOTHING


def _allowed(budget: PodDisruptionBudget, pods: list[kube.Pod], leaving: Collection[str]) -> int:
    """Allowed disruptions: those in the status less evictions in progress; without a status, from counts."""
    status = budget.status
    going = [pod for pod in pods if pod.metadata.uid in leaving and pod.metadata.deletion_timestamp is None]
    if status.disruptions_allowed is not None:
        paid = status.disrupted_pods or {}
        return status.disruptions_allowed - sum(1 for pod in going if pod.metadata.name not in paid)
    expected = [pod for pod in pods if not pod.status.is_finished]
    healthy = sum(1 for pod in expected if pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None)
    return healthy - len(going) - _desired(budget, len(expected))


def _desired(budget: PodDisruptionBudget, expected: int) -> int:
    """Number of pods that must stay; one if the budget does not specify it."""
    spec = budget.spec
    if spec.max_unavailable is not None:
        return expected - _scaled(spec.max_unavailable, expected)
    return _scaled(1 if spec.min_available is None else spec.min_available, expected)


def _scaled(amount: int | str, whole: int) -> int:
    """A count, or a percentage of the whole, rounded up. An invalid value counts as all."""
    if isinstance(amount, int):
        return amount
    number = amount.removesuffix("%")
    return -(-whole * int(number) // 100) if number.isdecimal() and len(number) < 4 else whole
