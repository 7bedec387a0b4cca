"""The declared run time of a pod.

An annotation gives the expected run time; `activeDeadlineSeconds` is the limit of the kubelet. The shorter one applies.
A pod without either counts as running indefinitely: no plan relies on its end.
"""

from __future__ import annotations

from math import inf

from stromboli import kube
from stromboli.cluster.objects.pods.declared_durations import declared_duration, duration_warning
from stromboli.kube.objects.timestamps import RUN_TIME


def run_time_of(pod: kube.Pod) -> float:
    """Seconds; infinite if no valid value is declared."""
    return min(declared_run_time_of(pod), limit_of(pod))


def declared_run_time_of(pod: kube.Pod) -> float:
    """The expected run time by the annotation; infinite without a valid one."""
    return declared_duration(pod.metadata.annotations, RUN_TIME)


def limit_of(pod: kube.Pod) -> float:
    """The run time after which the kubelet ends the pod; infinite for none."""
    deadline = pod.spec.active_deadline_seconds
    return float(deadline) if deadline and deadline > 0 else inf


def run_time_warning(pod: kube.Pod) -> str:
    """Return why the annotation is invalid; empty if it is valid."""
    return duration_warning(pod.metadata.annotations, RUN_TIME)
