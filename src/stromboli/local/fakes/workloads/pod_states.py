"""States of a pod, as its owner sees them."""

from __future__ import annotations

from collections.abc import Iterable

from stromboli.kube.objects.meta import KubeCondition
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.timestamps import seconds_of


def is_finished(pod: Pod) -> bool:
    return pod.status.phase in ("Succeeded", "Failed")


def is_active(pod: Pod) -> bool:
    """Report whether the pod is running or will run."""
    return not is_finished(pod) and pod.metadata.deletion_timestamp is None


def is_ready(pod: Pod) -> bool:
    return _readiness(pod) is not None


def is_healthy(pod: Pod) -> bool:
    return is_ready(pod) and pod.metadata.deletion_timestamp is None


def available_at(pod: Pod, min_ready_seconds: int) -> float | None:
    """Since when the pod has been available, in seconds since the epoch; None if it is not ready."""
    readiness = _readiness(pod)
    return None if readiness is None else (seconds_of(readiness.last_transition_time) or 0.0) + min_ready_seconds


def deletion_order(pods: Iterable[Pod]) -> list[Pod]:
    """Pods in deletion order: without node, not started, not ready, young."""
    youngest_first = sorted(pods, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.key), reverse=True)
    return sorted(
        youngest_first, key=lambda pod: (bool(pod.spec.node_name), pod.status.phase == "Running", is_ready(pod))
    )


def _readiness(pod: Pod) -> KubeCondition | None:
    conditions = pod.status.conditions or ()
    return next((entry for entry in conditions if entry.type == "Ready" and entry.status == "True"), None)
