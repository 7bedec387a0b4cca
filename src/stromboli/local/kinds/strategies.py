"""Strategies: rules that a kind adds to the common ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from stromboli.local.api_server.errors import Cause
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object, StoreEntry

Strategies = Callable[[ServedResource], "KindStrategy"]
"""Returns the strategy of a resource."""

#: Built-in kinds with a generation.
_COUNTED = frozenset(
    {
        "pods", "deployments", "replicasets", "statefulsets", "daemonsets", "replicationcontrollers",
        "jobs", "cronjobs", "poddisruptionbudgets", "priorityclasses", "networkpolicies", "ingresses",
        "customresourcedefinitions", "resourceslices", "validatingwebhookconfigurations",
        "mutatingwebhookconfigurations", "deviceclasses",
    }
)  # fmt: skip
#: Initial status of built-in kinds.
_INITIAL_STATUS: dict[str, Object] = {
    "persistentvolumes": {"phase": "Pending"},
    "persistentvolumeclaims": {"phase": "Pending"},
    "services": {"loadBalancer": {}},
    "ingresses": {"loadBalancer": {}},
    "volumeattachments": {"attached": False},
    "replicasets": {"replicas": 0},
    "replicationcontrollers": {"replicas": 0},
    "statefulsets": {"replicas": 0, "availableReplicas": 0},
    "daemonsets": {"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0},
    **{plural: {} for plural in ("deployments", "jobs", "cronjobs", "resourcequotas", "resourceclaims")},
    "poddisruptionbudgets": {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0},
}
#: Finalizers that protect storage in use, set at creation.
_PROTECTION = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
}
_APART = frozenset({"metadata", "status"})


class KindStrategy:
    """The rules of an ordinary kind."""

    #: Whether a PUT without resourceVersion is an unconditional update.
    unconditional_update = True
    #: Whether the status may be set at creation.
    status_at_creation = False
    #: Whether names are DNS subdomains; roles may be called `system:node`.
    free_names = False
    #: The default propagation policy of a deletion; empty leaves it to the existing finalizers.
    propagation = ""

    def counts_generations(self, resource: ServedResource) -> bool:
        return resource.plural in _COUNTED

    def protect(self, resource: ServedResource, body: Object) -> None:
        """Add the protection finalizer of the kind to a new object."""
        finalizer = _PROTECTION.get(resource.plural)
        if finalizer is None:
            return
        held = body["metadata"].get("finalizers") or []
        if finalizer not in held:
            body["metadata"]["finalizers"] = [*held, finalizer]

    def default(self, resource: ServedResource, body: Object) -> None:
        """Set defaults. Parts may be shared with older versions: replace them, never change them."""

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        """Validate an object by itself."""
        return ()

    def check_change(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        """Validate a change of an object."""
        return ()

    def warnings(self, resource: ServedResource, body: Object) -> Iterable[str]:
        """Warnings about a valid object."""
        return ()

    def admit(self, resource: ServedResource, body: Object) -> None:
        """Admit a new object in the context of others; may complete or reject it."""

    def start_status(self, resource: ServedResource, body: Object) -> None:
        """Clear the status that the caller sent, if the kind has a status subresource."""
        if resource.status_subresource and not self.status_at_creation:
            body.pop("status", None)
            if not resource.is_custom and (status := _INITIAL_STATUS.get(resource.plural)) is not None:
                body["status"] = dict(status)

    def touch(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Object:
        """Restore everything that this write may not change."""
        if subresource == "status":
            return {**old, "metadata": new["metadata"], **_part(new, "status")}
        if resource.status_subresource:
            return {**_without(new, "status"), **_part(old, "status")}
        return new

    def is_next_generation(self, resource: ServedResource, old: Object, new: Object) -> bool:
        """Report whether the desired state has changed."""
        return {k: v for k, v in old.items() if k not in _APART} != {k: v for k, v in new.items() if k not in _APART}

    def grace_period(self, body: Object, wanted: int | None) -> int:
        """The grace period of a deletion in seconds."""
        return 0

    def holds_back(self, body: Object) -> bool:
        """Report whether the kind itself, apart from finalizers, delays the removal of a deleted object."""
        return False

    def written(self, resource: ServedResource, entry: StoreEntry, previous: StoreEntry | None) -> None:
        """Called after an object has been stored."""

    def delete_begins(self, resource: ServedResource, body: Object) -> None:
        """Complete a body whose deletion was just requested."""

    def removed(self, resource: ServedResource, entry: StoreEntry) -> None:
        """Called after an object was removed."""


def _part(body: Object, name: str) -> dict[str, Any]:
    return {name: body[name]} if name in body else {}


def _without(body: Object, name: str) -> Object:
    return {key: value for key, value in body.items() if key != name} if name in body else body
