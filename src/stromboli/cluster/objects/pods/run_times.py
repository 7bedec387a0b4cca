"""The declared run time of a pod.

An annotation gives the expected run time; `activeDeadlineSeconds` is the limit of the kubelet. The shorter one applies.
A pod without either counts as running indefinitely: no plan relies on its end.
"""

from __future__ import annotations

from math import inf

from stromboli import kube
from stromboli.core.model.values.times import parse_duration

RUN_TIME = "scheduling.stromboli.dev/run-time"


def run_time_of(pod: kube.Pod) -> float:
    """Seconds; infinite if no valid value is declared."""
    deadline = pod.spec.active_deadline_seconds
    allowed = float(deadline) if deadline and deadline > 0 else inf
    text = (pod.metadata.annotations or {}).get(RUN_TIME)
    if text is None:
        return allowed
    try:
        return min(parse_duration(text), allowed)
    except ValueError:
        return allowed


def run_time_warning(pod: kube.Pod) -> str:
    """Return why the annotation is invalid; empty if it is valid."""
    text = (pod.metadata.annotations or {}).get(RUN_TIME)
    if text is None:
        return ""
    try:
        parse_duration(text)
    except ValueError as error:
        return f"metadata.annotations[{RUN_TIME}]: {error}; annotation ignored"
    return ""
