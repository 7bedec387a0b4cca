"""Rules of rollouts.

The new ReplicaSet grows as far as maxSurge allows, the old ones shrink as far as enough pods stay available; every step
is computed from the present state only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from stromboli.kube.objects.workloads import Deployment, PodTemplate, ReplicaSet
from stromboli.local.fakes.workloads.pod_templates import letters
from stromboli.local.fakes.workloads.replica_rules import desired

TEMPLATE_HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"
_OWN_ANNOTATIONS = (REVISION, DESIRED, MAXIMUM, "kubectl.kubernetes.io/last-applied-configuration")

_HASH_LENGTH = 10


@dataclass(frozen=True, slots=True)
class Size:
    """Desired and available replicas of a ReplicaSet."""

    replicas: int
    available: int = 0


@dataclass(frozen=True, slots=True)
class Bounds:
    """The maximum total of pods, and the minimum of available pods."""

    replicas: int
    max_replicas: int
    min_available: int


def template_hash(template: PodTemplate) -> str:
    """A hash of the template, independent of field order."""
    return letters(msgspec.json.encode(template, order="deterministic"), _HASH_LENGTH)


def own_template(replica_set: ReplicaSet) -> PodTemplate:
    """The template of a ReplicaSet without its hash label."""
    template = replica_set.spec.template or {}
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != TEMPLATE_HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


def of_template(deployment: Deployment, replica_sets: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """The oldest ReplicaSet with the current template."""
    same = [each for each in replica_sets if own_template(each) == (deployment.spec.template or {})]
    return min(same, key=lambda each: (each.metadata.creation_timestamp or "", each.metadata.name), default=None)


def revision_of(annotations: Mapping[str, str] | None) -> int:
    text = (annotations or {}).get(REVISION, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else 0


def bounds(deployment: Deployment) -> Bounds:
    """maxSurge is rounded up, maxUnavailable down; if both are 0, one pod may be unavailable."""
    replicas = desired(deployment)
    if is_recreated(deployment):
        return Bounds(replicas, replicas, 0)
    rolling = deployment.spec.strategy.rolling_update if deployment.spec.strategy else None
    surge = _share(rolling.max_surge if rolling else None, replicas, up=True)
    lack = _share(rolling.max_unavailable if rolling else None, replicas, up=False)
    if not surge and not lack:
        lack = 1
    return Bounds(replicas, replicas + surge, max(0, replicas - lack))


def is_recreated(deployment: Deployment) -> bool:
    return deployment.spec.strategy is not None and deployment.spec.strategy.type == "Recreate"


def _share(amount: int | str | None, of: int, *, up: bool) -> int:
    if amount is None:
        amount = "25%"
    if isinstance(amount, int):
        return max(0, amount)
    text = amount.removesuffix("%")
    if not (text.isascii() and text.isdecimal() and len(text) < 9):
        return 0
    part = int(text) * of
    return -(-part // 100) if up else part // 100


def grown(limits: Bounds, new: Size, old: Sequence[Size]) -> int:
    """The next size of the new ReplicaSet."""
    if new.replicas >= limits.replicas:
        return limits.replicas
    surplus = limits.max_replicas - new.replicas - sum(each.replicas for each in old)
    return new.replicas + max(0, min(surplus, limits.replicas - new.replicas))


def shrunk(limits: Bounds, new: Size, old: Sequence[Size]) -> list[int]:
    """The next sizes of the old ReplicaSets, oldest first: unhealthy pods are removed first."""
    remaining = [each.replicas for each in old]
    spare = sum(remaining) + new.replicas - limits.min_available - max(0, new.replicas - new.available)
    for place, each in enumerate(old):
        gone = max(0, min(spare, each.replicas - each.available))
        remaining[place] -= gone
        spare -= gone
    spare = min(spare, sum(each.available for each in old) + new.available - limits.min_available)
    for place, count in enumerate(remaining):
        gone = max(0, min(spare, count))
        remaining[place] -= gone
        spare -= gone
    return remaining


def size_of(replica_set: ReplicaSet | None) -> Size:
    if replica_set is None:
        return Size(0)
    return Size(desired(replica_set), replica_set.status.available_replicas or 0)


def replica_set_document(deployment: Deployment, owner: dict[str, Any], replicas: int, revision: int) -> dict[str, Any]:
    """The ReplicaSet of the current template; its name is derived from the template, so that it is created once."""
    template = deployment.spec.template or {}
    mark = {TEMPLATE_HASH: template_hash(template)}
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), **mark}
    selector = msgspec.to_builtins(deployment.spec.selector) if deployment.spec.selector else {}
    spec: dict[str, Any] = {
        "replicas": replicas,
        "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **mark}},
        "template": {**template, "metadata": {**metadata, "labels": labels}},
    }
    if deployment.spec.min_ready_seconds:
        spec["minReadySeconds"] = deployment.spec.min_ready_seconds
    name = f"{deployment.metadata.name[: 63 - _HASH_LENGTH - 1]}-{mark[TEMPLATE_HASH]}"
    notes = set_annotations(deployment, revision)
    return {
        "metadata": {"name": name, "labels": labels, "annotations": notes, "ownerReferences": [owner]},
        "spec": spec,
    }


def set_annotations(deployment: Deployment, revision: int) -> dict[str, str]:
    """Annotations of the current ReplicaSet: those of the Deployment, and the revision."""
    existing = deployment.metadata.annotations or {}
    copied = {key: value for key, value in existing.items() if key not in _OWN_ANNOTATIONS}
    return {**copied, REVISION: str(revision), **size_annotations(deployment)}


def size_annotations(deployment: Deployment) -> dict[str, str]:
    """Annotations of every ReplicaSet, for `kubectl rollout`."""
    limits = bounds(deployment)
    return {DESIRED: str(limits.replicas), MAXIMUM: str(limits.max_replicas)}


def outdated(deployment: Deployment, old: Sequence[ReplicaSet]) -> list[ReplicaSet]:
    """ReplicaSets beyond the revision history limit, the oldest first."""
    limit = deployment.spec.revision_history_limit
    empty = [each for each in old if not desired(each) and not each.status.replicas and _is_seen(each)]
    empty.sort(key=lambda each: revision_of(each.metadata.annotations))
    return empty[: max(0, len(empty) - (10 if limit is None else limit))]


def _is_seen(replica_set: ReplicaSet) -> bool:
    """Report whether the status is of the current generation."""
    status, metadata = replica_set.status, replica_set.metadata
    is_present = (status.observed_generation or 0) >= (metadata.generation or 0)
    return is_present and metadata.deletion_timestamp is None
