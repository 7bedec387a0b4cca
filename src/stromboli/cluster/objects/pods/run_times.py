"""How long a pod says it will run.

An annotation gives the expected run time; `activeDeadlineSeconds` is what the kubelet allows. Where both are given, the
shorter one holds. A pod that says nothing counts as running for ever: nobody may plan with its end.
"""

from __future__ import annotations

from math import inf

from stromboli import kube
from stromboli.core.model.values.durations import parse_duration

RUN_TIME = "scheduling.stromboli.dev/run-time"


def run_time_of(pod: kube.Pod) -> float:
    """Seconds; infinite where nothing is declared that can be read."""
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
    """What is wrong with the annotation, in words; empty when nothing is."""
    text = (pod.metadata.annotations or {}).get(RUN_TIME)
    if text is None:
        return ""
    try:
        parse_duration(text)
    except ValueError as error:
        return f"metadata.annotations[{RUN_TIME}]: {error}; until then it is passed over"
    return ""
