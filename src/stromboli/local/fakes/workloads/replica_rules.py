"""Rules of ReplicaSets: counts, missing pods and excess pods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.selectors import matches
from stromboli.kube.objects.workloads import Deployment, ReplicaSet, StatefulSet
from stromboli.local.fakes.workloads.pod_states import available_at, deletion_order, is_active, is_ready


@dataclass(frozen=True, slots=True)
class ReplicaCounts:
    """Counts of a ReplicaSet's pods."""

    replicas: int
    labelled: int
    ready: int
    available: int
    #: When the next ready pod becomes available, in seconds since the epoch.
    next_available_at: float | None = None


def desired(owner: ReplicaSet | Deployment | StatefulSet) -> int:
    return 1 if owner.spec.replicas is None else owner.spec.replicas


def replica_counts(replica_set: ReplicaSet, pods: Iterable[Pod], now: float) -> ReplicaCounts:
    active = [pod for pod in pods if is_active(pod)]
    labels = ((replica_set.spec.template or {}).get("metadata") or {}).get("labels") or {}
    moments = [available_at(pod, replica_set.spec.min_ready_seconds or 0) for pod in active]
    waiting = [at for at in moments if at is not None and at > now]
    return ReplicaCounts(
        replicas=len(active),
        labelled=sum(1 for pod in active if labels.items() <= (pod.metadata.labels or {}).items()),
        ready=sum(map(is_ready, active)),
        available=sum(1 for at in moments if at is not None and at <= now),
        next_available_at=min(waiting, default=None),
    )


def shortage(replica_set: ReplicaSet, pods: Iterable[Pod]) -> tuple[int, list[Pod]]:
    """The number of pods to create, and the pods to delete."""
    active = [pod for pod in pods if is_active(pod)]
    surplus = len(active) - desired(replica_set)
    return (-surplus, []) if surplus <= 0 else (0, deletion_order(active)[:surplus])


def is_adoptable(replica_set: ReplicaSet, pod: Pod) -> bool:
    """Report whether an orphaned pod matches the ReplicaSet."""
    return is_active(pod) and belongs(replica_set, pod)


def belongs(replica_set: ReplicaSet, pod: Pod) -> bool:
    same_place = replica_set.metadata.namespace == pod.metadata.namespace
    return same_place and matches(replica_set.spec.selector, pod.metadata.labels)
