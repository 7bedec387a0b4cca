"""How many pods of an application may go at once: the arithmetic of disruption budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stromboli.kube.objects.cluster import PodDisruptionBudget
from stromboli.kube.objects.pod import Pod
from stromboli.local.fakes.timestamps import seconds_of

DELETED_WITHIN = 120.0
"""How long an eviction that was granted may take to show; after that it is taken to have come to nothing."""


@dataclass(frozen=True, slots=True)
class Count:
    """What a budget says of its pods. `disrupted` are those that were granted to go and are still to be seen."""

    expected: int
    desired: int
    healthy: int
    disrupted: Mapping[str, str]

    @property
    def allowed(self) -> int:
        return max(0, self.healthy - self.desired) if self.expected else 0


def count(budget: PodDisruptionBudget, pods: Iterable[Pod], now: float) -> Count:
    """The pods are those that the budget selects. Pods that are done count for nothing."""
    present = {pod.metadata.name: pod for pod in pods if pod.status.phase not in ("Succeeded", "Failed")}
    disrupted = {
        name: moment
        for name, moment in (budget.status.disrupted_pods or {}).items()
        if moment and _is_still_to_go(present.get(name), moment, now)
    }
    healthy = sum(1 for name, pod in present.items() if name not in disrupted and _is_healthy(pod))
    return Count(len(present), desired_healthy(budget, len(present)), healthy, disrupted)


def desired_healthy(budget: PodDisruptionBudget, expected: int) -> int:
    """How many must stay, of as many as there are; percentages are rounded up."""
    spec = budget.spec
    if spec.max_unavailable is not None:
        return max(0, expected - _share(spec.max_unavailable, expected))
    return 0 if spec.min_available is None else _share(spec.min_available, expected)


def expires_in(disrupted: Mapping[str, str], now: float) -> float | None:
    """When the next grant comes to nothing, in seconds; None without any."""
    ends = [(seconds_of(moment) or now) + DELETED_WITHIN - now for moment in disrupted.values()]
    return max(0.0, min(ends)) if ends else None


def _share(amount: int | str, of: int) -> int:
    """A number, or a percentage as text; text that is neither is nothing."""
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
    """A pod that is gone or going needs no note any more, nor one that did not go in time."""
    if pod is None or pod.metadata.deletion_timestamp is not None:
        return False
    return now < (seconds_of(moment) or now) + DELETED_WITHIN
