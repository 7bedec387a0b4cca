"""Arithmetic of disruption budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stromboli.kube.objects.cluster import PodDisruptionBudget
from stromboli.kube.objects.pod import Pod
from stromboli.local.fakes.timestamps import seconds_of

DELETED_WITHIN = 120.0
"""Time limit in seconds until a granted eviction must be observed; after that it is ignored."""


@dataclass(frozen=True, slots=True)
class Count:
    """Counts of a budget. `disrupted` are granted evictions that are not observed yet."""

    expected: int
    desired: int
    healthy: int
    disrupted: Mapping[str, str]

    @property
    def allowed(self) -> int:
        return max(0, self.healthy - self.desired) if self.expected else 0


def count(budget: PodDisruptionBudget, pods: Iterable[Pod], now: float) -> Count:
    """Count the pods that the budget selects. Finished pods are ignored."""
    present = {pod.metadata.name: pod for pod in pods if pod.status.phase not in ("Succeeded", "Failed")}
    disrupted = {
        name: moment
        for name, moment in (budget.status.disrupted_pods or {}).items()
        if moment and _is_still_to_go(present.get(name), moment, now)
    }
    healthy = sum(1 for name, pod in present.items() if name not in disrupted and _is_healthy(pod))
    return Count(len(present), desired_healthy(budget, len(present)), healthy, disrupted)


def desired_healthy(budget: PodDisruptionBudget, expected: int) -> int:
    """The number of pods that must stay available; percentages are rounded up."""
    spec = budget.spec
    if spec.max_unavailable is not None:
        return max(0, expected - _share(spec.max_unavailable, expected))
    return 0 if spec.min_available is None else _share(spec.min_available, expected)


def expires_in(disrupted: Mapping[str, str], now: float) -> float | None:
    """Seconds until the next granted eviction expires; None without any."""
    ends = [(seconds_of(moment) or now) + DELETED_WITHIN - now for moment in disrupted.values()]
    return max(0.0, min(ends)) if ends else None


def _share(amount: int | str, of: int) -> int:
    """A number, or a percentage as text; other text counts as 0."""
    if isinstance(amount, int):
        return max(0, amount)
    text = amount.removesuffix("%")
    if not (text.isascii() and text.isdecimal() and len(text) < 9):
        return 0
    return -(-int(text) * of // 100) if amount.endswith("%") else int(text)


def _is_healthy(pod: Pod) -> bool:
    if pod.metadata.deletion_timestamp is not None:
        return False
    return any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions or ())


def _is_still_to_go(pod: Pod | None, moment: str, now: float) -> bool:
    """Whether a granted eviction is still pending: the pod exists, is not being deleted, and the time limit has not
    passed.
    """
    if pod is None or pod.metadata.deletion_timestamp is not None:
        return False
    return now < (seconds_of(moment) or now) + DELETED_WITHIN
