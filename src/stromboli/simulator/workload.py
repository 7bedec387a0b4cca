"""A workload: the objects that exist from the start, and those that arrive later.

An annotation has the time from the start to the arrival of an object. Without it, pods without a node and PodGroups
arrive at their creation time; all other objects exist from the start. A PodGroup with neither arrives with the first of
its pods, and a pod with neither with its PodGroup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from stromboli import kube
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.core.model.values.times import duration_or_nothing
from stromboli.kube.objects import native
from stromboli.kube.objects.timestamps import ARRIVES_AFTER
from stromboli.workloads.groups import job_key_of

#: The start of a workload without any time.
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


@dataclass(slots=True)
class Workload:
    #: Seconds since the epoch.
    start: float
    #: Objects from the start, and later arrivals by time.
    present: list[kube.KubeObject] = field(default_factory=list)
    arrivals: dict[float, list[kube.KubeObject]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def workload_of(objects: Iterable[kube.KubeObject], start: float | None = None) -> Workload:
    """Sort objects by arrival. The default start is the earliest creation time of waiting objects."""
    entries = [entry for entry in objects if not (isinstance(entry, kube.Pod) and entry.status.is_finished)]
    waiting = [entry for entry in entries if _waits(entry)]
    if start is None:
        created = (seconds_of(entry.metadata.creation_timestamp) for entry in waiting if not arrival_annotation(entry))
        start = min(filter(None, created), default=BEGINNING)
    workload = Workload(start)
    moments = {id(entry): _moment(entry, workload) for entry in entries}
    groups = {entry.key: moments[id(entry)] for entry in entries if isinstance(entry, kube.PodGroup)}
    first = _first_pods(waiting, moments)
    for entry in sorted(entries, key=lambda entry: (type(entry).kind_name, entry.key)):
        moment = moments[id(entry)]
        if moment is None and isinstance(entry, kube.PodGroup):
            moment = first.get(entry.key)
        elif moment is None and isinstance(entry, kube.Pod) and not entry.spec.node_name:
            moment = groups.get(job_key_of(entry) or "")
        if moment is None or moment <= start:
            workload.present.append(entry)
        else:
            workload.arrivals.setdefault(moment, []).append(entry)
    return workload


def _waits(entry: kube.KubeObject) -> bool:
    if isinstance(entry, kube.Pod):
        return not entry.spec.node_name
    return isinstance(entry, kube.PodGroup | native.NativePodGroup)


def arrival_annotation(entry: kube.KubeObject) -> str | None:
    """Return the annotated time from the start to the arrival of an object, as text."""
    return (entry.metadata.annotations or {}).get(ARRIVES_AFTER)


def _moment(entry: kube.KubeObject, workload: Workload) -> float | None:
    """Return the arrival time of an object; None if it has none."""
    annotation = arrival_annotation(entry)
    if annotation is not None:
        try:
            return workload.start + duration_or_nothing(annotation)
        except ValueError as error:
            where = f"{type(entry).kind_name} {entry.key}: metadata.annotations[{ARRIVES_AFTER}]"
            workload.warnings.append(f"{where}: {error}; ignored")
    return (seconds_of(entry.metadata.creation_timestamp) or None) if _waits(entry) else None


def _first_pods(waiting: Sequence[kube.KubeObject], moments: Mapping[int, float | None]) -> dict[str, float]:
    """Return the first arrival of a pod, by job."""
    first: dict[str, float] = {}
    for entry in waiting:
        moment = moments[id(entry)]
        if isinstance(entry, kube.Pod) and moment is not None and (key := job_key_of(entry)):
            first[key] = min(moment, first.get(key, moment))
    return first
