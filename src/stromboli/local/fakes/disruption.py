"""The controller of disruption budgets, which keeps their status up to date for evictions.

The server decrements the same status when it grants an eviction. Both write only over the version that they read, so
that no disruption is granted twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import DISRUPTION_BUDGETS
from stromboli.kube.objects.cluster import PodDisruptionBudget
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.selectors import matches
from stromboli.kube.objects.timestamps import seconds_of, stamp
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.local.fakes.workloads.pod_states import is_finished, is_healthy

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


EVICTION_TIMEOUT = 120.0
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
    present = {pod.metadata.name: pod for pod in pods if not is_finished(pod)}
    disrupted = {
        name: moment
        for name, moment in (budget.status.disrupted_pods or {}).items()
        if moment and _is_eviction_pending(present.get(name), moment, now)
    }
    healthy = sum(1 for name, pod in present.items() if name not in disrupted and is_healthy(pod))
    return Count(len(present), desired_healthy(budget, len(present)), healthy, disrupted)


def desired_healthy(budget: PodDisruptionBudget, expected: int) -> int:
    """The number of pods that must stay available; percentages are rounded up."""
    spec = budget.spec
    if spec.max_unavailable is not None:
        return max(0, expected - _share(spec.max_unavailable, expected))
    return 0 if spec.min_available is None else _share(spec.min_available, expected)


def expires_in(disrupted: Mapping[str, str], now: float) -> float | None:
    """Seconds until the next granted eviction expires; None without any."""
    ends = [(seconds_of(moment) or now) + EVICTION_TIMEOUT - now for moment in disrupted.values()]
    return max(0.0, min(ends)) if ends else None


def _share(amount: int | str, of: int) -> int:
    """A number, or a percentage as text; other text counts as 0."""
    if isinstance(amount, int):
        return max(0, amount)
    text = amount.removesuffix("%")
    if not (text.isascii() and text.isdecimal() and len(text) < 9):
        return 0
    return -(-int(text) * of // 100) if amount.endswith("%") else int(text)


def _is_eviction_pending(pod: Pod | None, moment: str, now: float) -> bool:
    """Report whether a granted eviction is pending: the pod is not being deleted, and the time limit has not passed."""
    if pod is None or pod.metadata.deletion_timestamp is not None:
        return False
    return now < (seconds_of(moment) or now) + EVICTION_TIMEOUT


COUNT_DELAY = 0.05
"""Delay of a count in seconds, so that pods that change together are counted together."""


class DisruptionController:
    def __init__(
        self,
        client: Client,
        budgets: Informer[PodDisruptionBudget],
        pods: Informer[Pod],
    ) -> None:
        self._client = client
        self._budgets, self._pods = budgets, pods
        self._by_namespace: dict[str, set[str]] = {}
        self._selected: dict[str, dict[str, Pod]] = {}
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="disruption budgets", workers=4)
        #: Number of status writes.
        self.writes = 0
        budgets.listen(self._budget_changed)
        pods.listen(self._pod_changed)

    async def run(self) -> None:
        """Run until cancelled."""
        await self._budgets.synced.wait()
        await self._pods.synced.wait()
        await self.work.run()

    def _budget_changed(self, old: PodDisruptionBudget | None, new: PodDisruptionBudget | None) -> None:
        budget = new or old
        if budget is None:
            return
        key, namespace = budget.key, budget.metadata.namespace
        if new is None:
            self._by_namespace.get(namespace, set()).discard(key)
            self._selected.pop(key, None)
            self.work.forget(key)
            return
        self._by_namespace.setdefault(namespace, set()).add(key)
        if old is None or old.spec.selector != new.spec.selector:
            self._selected[key] = {pod.key: pod for pod in self._pods.objects.values() if _selects(new, pod)}
        self.work.add(key)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        for key in self._by_namespace.get(pod.metadata.namespace, ()) if pod else ():
            selected, budget = self._selected.get(key, {}), self._budgets.objects.get(key)
            before = selected.pop(pod.key, None) if pod else None
            if new is not None and budget is not None and _selects(budget, new):
                selected[new.key] = new
            if before is not None or (pod is not None and pod.key in selected):
                self.work.add_after(key, COUNT_DELAY)

    async def _reconcile(self, key: str) -> float | None:
        budget = self._budgets.objects.get(key)
        if budget is None:
            return None
        now = time.time()
        result = count(budget, self._selected.get(key, {}).values(), now)
        if changes := _changes(budget, result, stamp(now)):
            await self._write(budget, changes)
        return expires_in(result.disrupted, now)

    async def _write(self, budget: PodDisruptionBudget, changes: dict[str, Any]) -> None:
        metadata = budget.metadata
        body = {"metadata": {"resourceVersion": metadata.resource_version}, "status": changes}
        try:
            await self._client.patch(
                DISRUPTION_BUDGETS, metadata.name, body, namespace=metadata.namespace, subresource="status"
            )
        except ApiError as error:
            if not error.is_missing:
                raise
        else:
            self.writes += 1


def _selects(budget: PodDisruptionBudget, pod: Pod) -> bool:
    return budget.metadata.namespace == pod.metadata.namespace and matches(budget.spec.selector, pod.metadata.labels)


def _changes(budget: PodDisruptionBudget, result: Count, moment: str) -> dict[str, Any]:
    """The status fields that change; None removes a pod from the disrupted ones."""
    status = budget.status
    wanted: dict[str, tuple[Any, Any]] = {
        "disruptionsAllowed": (status.disruptions_allowed, result.allowed),
        "currentHealthy": (status.current_healthy, result.healthy),
        "desiredHealthy": (status.desired_healthy, result.desired),
        "expectedPods": (status.expected_pods, result.expected),
        "observedGeneration": (status.observed_generation, budget.metadata.generation),
    }
    changes = {field: new for field, (old, new) in wanted.items() if old != new}
    if dropped := (status.disrupted_pods or {}).keys() - result.disrupted.keys():
        changes["disruptedPods"] = dict.fromkeys(dropped)
    is_allowed = result.allowed > 0
    if not any(entry.type == "DisruptionAllowed" and (entry.status == "True") is is_allowed
               for entry in status.conditions or ()):  # fmt: skip
        changes["conditions"] = [_condition(is_allowed, moment, budget.metadata.generation)]
    return changes


def _condition(is_allowed: bool, moment: str, generation: int | None) -> dict[str, Any]:
    return {
        "type": "DisruptionAllowed",
        "status": "True" if is_allowed else "False",
        "reason": "SufficientPods" if is_allowed else "InsufficientPods",
        "message": "",
        "lastTransitionTime": moment,
        "observedGeneration": generation or 0,
    }
