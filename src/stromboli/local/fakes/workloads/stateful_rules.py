"""Rules of StatefulSets: which pod is created or deleted next.

Pods have ordinals. They are created in order and deleted in reverse order, one at a time, each when all before it are
ready; or all at once with policy Parallel. A pod of an old template is replaced when all are healthy, the highest
ordinal first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.workloads import StatefulSet
from stromboli.local.fakes.workloads.pod_states import is_finished, is_healthy
from stromboli.local.fakes.workloads.pod_templates import letters
from stromboli.local.fakes.workloads.replica_rules import desired

REVISION_HASH = "controller-revision-hash"
POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"


@dataclass(frozen=True, slots=True)
class StatefulSetPlan:
    """Ordinals of pods to create, and pods to delete."""

    create: tuple[int, ...] = ()
    delete: tuple[Pod, ...] = ()


def number_of(stateful_set: StatefulSet, pod: Pod) -> int | None:
    """The ordinal at the end of the name; None for other names."""
    text = pod.metadata.name.removeprefix(f"{stateful_set.metadata.name}-")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else None


def revision(stateful_set: StatefulSet) -> str:
    """A hash of the template."""
    content = msgspec.json.encode(stateful_set.spec.template or {}, order="deterministic")
    return f"{stateful_set.metadata.name}-{letters(content, 10)}"


def plan(stateful_set: StatefulSet, pods: Iterable[Pod]) -> StatefulSetPlan:
    """The next step. Terminating pods still occupy their names."""
    by_number = {number: pod for pod in pods if (number := number_of(stateful_set, pod)) is not None}
    missing = tuple(number for number in range(desired(stateful_set)) if number not in by_number)
    leaving = [pod for number, pod in sorted(by_number.items(), reverse=True) if number >= desired(stateful_set)]
    ended = [pod for pod in by_number.values() if is_finished(pod) and pod not in leaving]
    if stateful_set.spec.pod_management_policy == "Parallel" and (missing or leaving or ended):
        return StatefulSetPlan(
            missing, tuple(pod for pod in (*ended, *leaving) if pod.metadata.deletion_timestamp is None)
        )
    if missing and all(is_healthy(by_number[number]) for number in range(missing[0])):
        return StatefulSetPlan(create=missing[:1])
    if ended or missing or not all(map(is_healthy, by_number.values())):
        return StatefulSetPlan(delete=tuple(pod for pod in ended[:1] if pod.metadata.deletion_timestamp is None))
    return StatefulSetPlan(delete=tuple(leaving[:1] or _outdated(stateful_set, by_number)[:1]))


def is_updated(stateful_set: StatefulSet, pod: Pod) -> bool:
    return (pod.metadata.labels or {}).get(REVISION_HASH) == revision(stateful_set)


def _outdated(stateful_set: StatefulSet, by_number: dict[int, Pod]) -> list[Pod]:
    """Outdated pods, the highest ordinal first."""
    update = stateful_set.spec.update_strategy
    if update is not None and update.type == "OnDelete":
        return []
    first = (update.rolling_update.partition if update and update.rolling_update else None) or 0
    newest_first = sorted(by_number.items(), reverse=True)
    return [pod for number, pod in newest_first if number >= first and not is_updated(stateful_set, pod)]
