"""Jobs as rows: from the statuses that a scheduler wrote on PodGroups, or from a plan.

Statuses suffice for a list, and reading them is cheap: ten thousand jobs need no pod, no node and no cycle. The
position of a job in its queue is then by priority and age, which is the scheduler's order of jobs that hold nothing,
unless a plugin of the policy compares something else; a plan uses the order of the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from sys import intern
from typing import Any

import msgspec

from stromboli import kube
from stromboli.cluster.objects.pod_groups.expected_start import expected_start_of
from stromboli.cluster.objects.pod_groups.native_pod_groups import NativeGroup
from stromboli.cluster.objects.priority_classes import Priorities
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.core.model.reasons import shortened_line
from stromboli.kube.objects.timestamps import stamp
from stromboli.workloads.groups import title_of
from stromboli.workloads.queues import queue_name_of

#: Phases of jobs that have not started.
WAITING_PHASES = ("Pending", "Inqueue", "")
#: Conditions that explain why a job waits or is in trouble, the most specific first.
_CONDITIONS = ("Unschedulable", "BindStuck", "Stale")
SUSPENDED = "suspended; stromboli resume continues it"
UNREPORTED = "no scheduler has reported on it"


class ExpectedStart(msgspec.Struct, kw_only=True):
    """The forecast of a start; no latest moment if run times are unknown."""

    earliest: str
    latest: str | None


class JobDocument(msgspec.Struct, rename="camel", kw_only=True):
    """A job in JSON: `stromboli jobs` and the console use these names."""

    job: str
    namespace: str
    pod_group: str
    queue: str
    phase: str
    ready: int | None
    min_member: int
    priority: int
    position: int | None
    reason: str
    expected_start: ExpectedStart | None
    labels: dict[str, str]
    created: str | None


@dataclass(slots=True)
class JobEntry:
    #: The key of its PodGroup.
    key: str
    namespace: str
    name: str
    queue: str
    phase: str
    #: Pods that run or have succeeded; in a plan, pods with a node. None if they are not reported.
    ready: int | None
    minimum: int
    priority: int
    #: Why it waits, in at most 60 characters.
    reason: str
    #: Seconds since the epoch; 0 if unknown.
    created: float
    labels: dict[str, str] = field(default_factory=dict)
    #: When it is expected to start, by the forecast of the scheduler: the earliest and the latest moment, which is None
    #: if run times are unknown. None without a forecast.
    expected: tuple[float, float | None] | None = None
    #: Its place among the jobs of the queue that wait, from 1; None if it does not wait, or if not all are visible.
    position: int | None = None

    @property
    def waits(self) -> bool:
        return self.phase in WAITING_PHASES

    def as_document(self) -> JobDocument:
        """Return the entry for JSON and YAML."""
        return JobDocument(
            job=self.name, namespace=self.namespace, pod_group=self.key.partition("/")[2], queue=self.queue,
            phase=self.phase, ready=self.ready, min_member=self.minimum, priority=self.priority,
            position=self.position, reason=self.reason, expected_start=self._expected_start(), labels=self.labels,
            created=stamp(self.created) if self.created else None,
        )  # fmt: skip

    def as_plain(self) -> dict[str, Any]:
        """Return the entry as plain values."""
        plain: dict[str, Any] = msgspec.to_builtins(self.as_document())
        return plain

    def _expected_start(self) -> ExpectedStart | None:
        if self.expected is None:
            return None
        earliest, latest = self.expected
        return ExpectedStart(earliest=stamp(earliest), latest=None if latest is None else stamp(latest))


def reported_jobs(
    groups: Iterable[kube.PodGroup],
    priorities: Priorities,
    *,
    is_complete: bool = True,
    suspended: Collection[str] = (),
) -> list[JobEntry]:
    """Return the jobs as the scheduler has reported them. Positions are left out unless all groups are visible."""
    entries = [_reported(group, priorities) for group in groups]
    for entry in entries:
        if entry.key in suspended:
            entry.reason = SUSPENDED
    entries.sort(key=lambda entry: (entry.namespace, entry.name, entry.key))
    if not is_complete:
        return entries
    return with_positions(entries, lambda entry: (-entry.priority, entry.created, entry.key))


def _reported(group: kube.PodGroup, priorities: Priorities) -> JobEntry:
    status, phase = group.status, group.status.phase or ""
    counts = None if isinstance(group, NativeGroup) else (status.running or 0) + (status.succeeded or 0)
    return JobEntry(
        key=group.key,
        namespace=group.metadata.namespace,
        name=title_of(group),
        queue=queue_name_of(group),
        phase=phase,
        ready=counts,
        minimum=group.spec.min_member or 0,
        priority=priorities.of_group(group),
        reason=reported_reason(group),
        created=seconds_of(group.metadata.creation_timestamp),
        labels=group.metadata.labels or {},
        expected=expected_start_of(group) if phase in WAITING_PHASES else None,
    )


def reported_reason(group: kube.PodGroup) -> str:
    """Return why a job waits, from its conditions: the scheduler's messages begin with their short form."""
    if not group.status.conditions:
        return "" if group.status.phase else UNREPORTED
    conditions = {condition.type: condition for condition in group.status.conditions if condition.status == "True"}
    found = next((conditions[name] for name in _CONDITIONS if name in conditions), None)
    if found is not None:
        message = found.message or found.reason or ""
        return intern(shortened_line(message.partition(". ")[0].removesuffix(".")))  # thousands wait for the same
    return ""


def with_positions(entries: Sequence[JobEntry], order: Callable[[JobEntry], Any]) -> list[JobEntry]:
    """Number the entries that wait by queue, and return all in their order."""
    lengths: dict[str, int] = {}
    for entry in sorted((entry for entry in entries if entry.waits), key=order):
        entry.position = lengths[entry.queue] = lengths.get(entry.queue, 0) + 1
    return list(entries)
