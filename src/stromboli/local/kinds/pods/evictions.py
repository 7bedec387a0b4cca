"""Eviction of pods: a deletion within disruption budgets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from stromboli.kube.objects.meta import KubeLabelSelector
from stromboli.kube.objects.selectors import matches
from stromboli.local.api_server.clock import now
from stromboli.local.api_server.deletion import DeleteOptions, Deletion, check_preconditions
from stromboli.local.api_server.errors import Cause, StatusError, bad_request, forbidden, too_many_requests
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object, Store, StoreEntry
from stromboli.local.api_server.write_options import WriteOptions
from stromboli.local.api_server.writes import Writes
from stromboli.local.kinds.pods.pods import FINISHED, with_condition
from stromboli.local.kinds.validation.types import EvictionTypes, check_type

_BEING_PROCESSED_SECONDS = 10
_DISRUPTED_PODS = 2000
_DISRUPTION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
    "lastProbeTime": None,
}


class Evictions:
    """Checks and updates the budgets, and deletes the pod."""

    def __init__(self, store: Store, writes: Writes, deletion: Deletion, budgets: ServedResource) -> None:
        self._store = store
        self._writes = writes
        self._deletion = deletion
        self._budgets = budgets

    def evict(self, pods: ServedResource, entry: StoreEntry, eviction: Any, dry_run: bool) -> None:
        check_type(eviction, EvictionTypes, "Eviction")
        named = (eviction.get("metadata") or {}).get("name")
        if named and named != entry.key[1]:
            raise bad_request("name in URL does not match name in Eviction object")
        options = DeleteOptions.parse(eviction.get("deleteOptions"), {"dryRun": "All"} if dry_run else {})
        check_preconditions(pods, entry, options)
        is_leaving = "deletionTimestamp" in entry.metadata
        if not is_leaving and (entry.body.get("status") or {}).get("phase") not in (*FINISHED, "Pending"):
            self._spend(entry, options)
        if not options.dry_run and not is_leaving:
            status = with_condition(entry.body.get("status") or {}, _DISRUPTION)
            entry = self._writes.store_marked(
                pods, entry, {**entry.body, "status": status, "metadata": dict(entry.metadata)}, WriteOptions()
            )
        unversioned = DeleteOptions(options.grace_period, options.uid, "", options.propagation, options.dry_run)
        self._deletion.delete(pods, entry, unversioned)

    def _spend(self, pod: StoreEntry, options: DeleteOptions) -> None:
        budgets = list(self._matching(pod))
        if len(budgets) > 1:
            message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise StatusError(500, "InternalError", message)
        for budget in budgets:
            if not _is_ready(pod.body) and _may_lose_unready(budget.body):
                continue
            status = _spent(self._budgets, budget, pod.key[1])
            if not options.dry_run:
                body = {**budget.body, "status": status, "metadata": dict(budget.metadata)}
                self._writes.store_marked(self._budgets, budget, body, WriteOptions())

    def _matching(self, pod: StoreEntry) -> Iterator[StoreEntry]:
        labels = pod.metadata.get("labels") or {}
        for budget in self._store.collection("policy", "poddisruptionbudgets").entries(pod.key[0]):
            selector = (budget.body.get("spec") or {}).get("selector")
            if matches(msgspec.convert(selector, KubeLabelSelector) if isinstance(selector, dict) else None, labels):
                yield budget


#: The condition of an exhausted budget.
_NONE_LEFT = {"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": ""}


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _may_lose_unready(budget: Object) -> bool:
    spec, status = budget.get("spec") or {}, budget.get("status") or {}
    if spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    desired = status.get("desiredHealthy", 0)
    return desired > 0 and status.get("currentHealthy", 0) >= desired


def _spent(budgets: ServedResource, budget: StoreEntry, pod: str) -> Object:
    """The budget's status after one disruption."""
    status, name = budget.body.get("status") or {}, budget.key[1]
    if status.get("observedGeneration", 0) < budget.metadata.get("generation", 0):
        why = f"The disruption budget {name} is still being processed by the server."
        message = "Cannot evict pod as it would violate the pod's disruption budget."
        raise too_many_requests(message, retry_after=_BEING_PROCESSED_SECONDS, causes=[Cause("DisruptionBudget", why)])
    allowed, disrupted = status.get("disruptionsAllowed", 0), status.get("disruptedPods") or {}
    if allowed < 0:
        raise forbidden(budgets, name, "pdb disruptions allowed is negative")
    if len(disrupted) > _DISRUPTED_PODS:
        raise forbidden(budgets, name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
    if allowed == 0:
        raise _exhausted(name, status)
    spent = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": {**disrupted, pod: now()}}
    if allowed > 1:
        return spent
    return with_condition(spent, {**_NONE_LEFT, "observedGeneration": budget.metadata["generation"]})


def _exhausted(name: str, status: Object) -> StatusError:
    needs, has = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    why = f"The disruption budget {name} needs {needs} healthy pods and has {has} currently"
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return too_many_requests(message, causes=[Cause("DisruptionBudget", why)])
