"""What a kind adds to the rules that all kinds share: defaults, checks, and which part a write may touch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from stromboli.local.api_server.errors import Cause
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object, StoreEntry

Strategies = Callable[[ServedResource], "KindStrategy"]
"""Finds the strategy of a resource."""

#: Built-in kinds whose objects carry a generation.
_COUNTED = frozenset(
    {
        "pods", "deployments", "replicasets", "statefulsets", "daemonsets", "replicationcontrollers",
        "jobs", "cronjobs", "poddisruptionbudgets", "priorityclasses", "networkpolicies", "ingresses",
        "customresourcedefinitions", "resourceslices", "validatingwebhookconfigurations",
        "mutatingwebhookconfigurations", "deviceclasses",
    }
)  # fmt: skip
#: Built-in kinds that begin with a status of their own.
_INITIAL_STATUS: dict[str, Object] = {
    "persistentvolumes": {"phase": "Pending"},
    "persistentvolumeclaims": {"phase": "Pending"},
    "services": {"loadBalancer": {}},
    "ingresses": {"loadBalancer": {}},
    "volumeattachments": {"attached": False},
    "replicasets": {"replicas": 0},
    "replicationcontrollers": {"replicas": 0},
    "statefulsets": {"replicas": 0, "availableReplicas": 0},
    "daemonsets": {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    },
    **{plural: {} for plural in ("deployments", "jobs", "cronjobs", "resourcequotas", "resourceclaims")},
    "poddisruptionbudgets": {
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "disruptionsAllowed": 0,
        "expectedPods": 0,
    },
}
#: What keeps storage from going away under those who use it, from its first moment.
_PROTECTION = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
}
_APART = frozenset({"metadata", "status"})


class KindStrategy:
    """The rules of a kind without peculiarities."""

    #: Whether a PUT may leave out the resourceVersion, and then wins over whatever is there.
    unconditional_update = True
    #: Whether a caller may say at creation what the status is.
    status_at_creation = False
    #: Whether a name is a DNS subdomain; roles may be called `system:node`.
    free_names = False
    #: What becomes of the dependants when a deletion does not say: empty leaves it to the finalizers that are there.
    propagation = ""

    def counts_generations(self, resource: ServedResource) -> bool:
        return resource.plural in _COUNTED

    def protect(self, resource: ServedResource, body: Object) -> None:
        """Give a new object the finalizer of those who look after its kind."""
        finalizer = _PROTECTION.get(resource.plural)
        if finalizer is None:
            return
        held = body["metadata"].get("finalizers") or []
        if finalizer not in held:
            body["metadata"]["finalizers"] = [*held, finalizer]

    def default(self, resource: ServedResource, body: Object) -> None:
        """Fill in what was left out. Parts may be shared with older versions: replace them, never change them."""

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        """What is wrong with an object in itself."""
        return ()

    def check_change(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        """What may not become of an object that is already there."""
        return ()

    def warnings(self, resource: ServedResource, body: Object) -> Iterable[str]:
        """What the author of an object should know although nothing is wrong with it."""
        return ()

    def admit(self, resource: ServedResource, body: Object) -> None:
        """Look at a new object in the light of the others; may complete it, may refuse it."""

    def start_status(self, resource: ServedResource, body: Object) -> None:
        """A kind with a status subresource begins without the status that the caller sent."""
        if resource.status_subresource and not self.status_at_creation:
            body.pop("status", None)
            if not resource.is_custom and (status := _INITIAL_STATUS.get(resource.plural)) is not None:
                body["status"] = dict(status)

    def touch(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Object:
        """The new object with everything put back that this write may not touch."""
        if subresource == "status":
            return {**old, "metadata": new["metadata"], **_part(new, "status")}
        if resource.status_subresource:
            return {**_without(new, "status"), **_part(old, "status")}
        return new

    def is_next_generation(self, resource: ServedResource, old: Object, new: Object) -> bool:
        """Whether what the object asks for has changed."""
        return {k: v for k, v in old.items() if k not in _APART} != {k: v for k, v in new.items() if k not in _APART}

    def grace_period(self, body: Object, wanted: int | None) -> int:
        """How long the object is allowed to take until it is gone, in seconds."""
        return 0

    def holds_back(self, body: Object) -> bool:
        """Whether the kind itself, besides any finalizer, still keeps a deleted object from going away."""
        return False

    def written(self, resource: ServedResource, entry: StoreEntry, previous: StoreEntry | None) -> None:
        """Called after an object has been stored."""

    def delete_begins(self, resource: ServedResource, body: Object) -> None:
        """Complete a body whose deletion has just been asked for."""

    def removed(self, resource: ServedResource, entry: StoreEntry) -> None:
        """Called after an object is gone."""


def _part(body: Object, name: str) -> dict[str, Any]:
    return {name: body[name]} if name in body else {}


def _without(body: Object, name: str) -> Object:
    return {key: value for key, value in body.items() if key != name} if name in body else body
