"""Rules of Jobs: completion, missing pods, excess pods and status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from stromboli.kube.objects.meta import KubeCondition
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.timestamps import seconds_of, stamp
from stromboli.kube.objects.workloads import BatchJob
from stromboli.local.fakes.workloads.pod_states import deletion_order

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
#: Conditions that announce the end before the last pods are gone.
CRITERIA = {COMPLETE: "SuccessCriteriaMet", FAILED: "FailureTarget"}


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of a Job's pods."""

    active: int = 0
    ready: int = 0
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0
    #: Completed indexes of an indexed Job.
    indexes: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class JobEnding:
    """The final condition of a Job."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class JobPlan:
    """Pods to create, by index (None for a Job without indexes), and pods to delete."""

    create: tuple[int | None, ...] = ()
    delete: tuple[Pod, ...] = ()


def is_indexed(job: BatchJob) -> bool:
    return job.spec.completion_mode == "Indexed"


def condition_of(job: BatchJob, kind: str) -> KubeCondition | None:
    """A condition with status True."""
    return next((each for each in job.status.conditions or () if each.type == kind and each.status == "True"), None)


def finished(job: BatchJob) -> KubeCondition | None:
    return condition_of(job, COMPLETE) or condition_of(job, FAILED)


def ignores_failure(job: BatchJob, pod: Pod) -> bool:
    """Report whether the first rule of the failure policy that matches the pod's conditions ignores the failure."""
    conditions = {(each.type, each.status) for each in pod.status.conditions or ()}
    for rule in job.spec.pod_failure_policy.rules or () if job.spec.pod_failure_policy else ():
        if any((each.type, each.status or "True") in conditions for each in rule.on_pod_conditions or ()):
            return rule.action == "Ignore"
    return False


def ending(job: BatchJob, counts: Counts, now: float) -> JobEnding | None:
    """The final condition; None while the Job is running. An earlier decision is kept."""
    for kind, criterion in CRITERIA.items():
        if (decided := condition_of(job, criterion)) is not None:
            return JobEnding(kind, decided.reason or "", decided.message or "")
    limit = job.spec.backoff_limit
    if counts.failed > (6 if limit is None else limit):
        return JobEnding(FAILED, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if (end := deadline(job)) is not None and now >= end:
        return JobEnding(FAILED, "DeadlineExceeded", "Job was active longer than specified deadline")
    if not job.spec.suspend and _is_complete(job, counts):
        return JobEnding(COMPLETE, "CompletionsReached", "Reached expected number of succeeded pods")
    return None


def _is_complete(job: BatchJob, counts: Counts) -> bool:
    """Report whether the Job is complete; without completions, after one success and with no active pod."""
    if job.spec.completions is None:
        return counts.succeeded > 0 and not counts.active
    return counts.succeeded >= job.spec.completions


def deadline(job: BatchJob) -> float | None:
    """The time of the active deadline; a suspended Job has none."""
    start, limit = seconds_of(job.status.start_time), job.spec.active_deadline_seconds
    return None if start is None or limit is None or job.spec.suspend else start + limit


def expires_at(job: BatchJob) -> float | None:
    """When a finished Job is to be deleted; None for never."""
    over, lifetime = finished(job), job.spec.ttl_seconds_after_finished
    at = seconds_of(over.last_transition_time) if over is not None else None
    return None if at is None or lifetime is None else at + lifetime


def plan(job: BatchJob, active: Iterable[Pod], counts: Counts, *, is_ending: bool) -> JobPlan:
    """The next step to the desired number of active pods."""
    present = list(active)
    if is_ending or job.spec.suspend:
        return JobPlan(delete=tuple(present))
    surplus = list(_misplaced(job, present, counts)) if is_indexed(job) else []
    dismissed = {pod.key for pod in surplus}
    kept = [pod for pod in present if pod.key not in dismissed]
    wanted = wanted_active(job, len(kept), counts.succeeded)
    if len(kept) > wanted:
        surplus += deletion_order(kept)[: len(kept) - wanted]
        return JobPlan(delete=tuple(surplus))
    return JobPlan(create=_to_create(job, kept, counts, wanted - len(kept)), delete=tuple(surplus))


def wanted_active(job: BatchJob, active: int, succeeded: int) -> int:
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    if job.spec.completions is None:
        return min(active, parallelism) if succeeded else parallelism
    return max(0, min(job.spec.completions - succeeded, parallelism))


def index_of(pod: Pod) -> int | None:
    text = (pod.metadata.annotations or {}).get(COMPLETION_INDEX, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _misplaced(job: BatchJob, pods: Iterable[Pod], counts: Counts) -> Iterator[Pod]:
    """Pods with an invalid, completed or duplicate index."""
    seen: set[int] = set()
    for pod in sorted(pods, key=lambda pod: pod.metadata.creation_timestamp or ""):
        index = index_of(pod)
        if index is None or index >= (job.spec.completions or 0) or index in counts.indexes or index in seen:
            yield pod
        else:
            seen.add(index)


def _to_create(job: BatchJob, active: Iterable[Pod], counts: Counts, number: int) -> tuple[int | None, ...]:
    if not is_indexed(job):
        return (None,) * number
    busy = {index_of(pod) for pod in active} | counts.indexes
    free = (index for index in range(job.spec.completions or 0) if index not in busy)
    return tuple(index for index, _ in zip(free, range(number), strict=False))


def index_text(indexes: Iterable[int]) -> str:
    """Indexes as text: `0,1,4-7`; three or more in a row become a range."""
    rows: list[list[int]] = []
    for index in sorted(indexes):
        if rows and rows[-1][-1] == index - 1:
            rows[-1].append(index)
        else:
            rows.append([index])
    return ",".join(f"{row[0]}-{row[-1]}" if len(row) > 2 else ",".join(map(str, row)) for row in rows)


def index_set(text: str | None) -> frozenset[int]:
    """Parse indexes such as `0,1,4-7`; invalid parts are ignored."""
    found: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def status_changes(job: BatchJob, counts: Counts, end: JobEnding | None, now: float) -> dict[str, Any]:
    """The status fields that change; None removes a field."""
    status, moment = job.status, stamp(now)
    is_over = end is not None and not counts.active and not counts.terminating
    wanted: dict[str, tuple[Any, Any]] = {
        "active": (status.active or 0, counts.active),
        "ready": (status.ready, counts.ready),
        "terminating": (status.terminating, counts.terminating),
        "succeeded": (status.succeeded or 0, max(counts.succeeded, status.succeeded or 0)),
        "failed": (status.failed or 0, max(counts.failed, status.failed or 0)),
        "startTime": (status.start_time, _start(job, end, moment)),
    }
    if is_indexed(job):
        wanted["completedIndexes"] = (status.completed_indexes or "", index_text(counts.indexes))
    if is_over and end is not None and end.type == COMPLETE:
        wanted["completionTime"] = (status.completion_time, status.completion_time or moment)
    changes = {field: new for field, (old, new) in wanted.items() if old != new}
    if (conditions := _conditions(job, end, is_over, moment)) is not None:
        changes["conditions"] = conditions
    return changes


def _start(job: BatchJob, end: JobEnding | None, moment: str) -> str | None:
    """The start time; a suspended Job starts when it is resumed."""
    if job.spec.suspend and end is None:
        return None
    return job.status.start_time or moment


def _conditions(job: BatchJob, end: JobEnding | None, is_over: bool, moment: str) -> list[dict[str, Any]] | None:
    """All conditions, if one of them has changed."""
    present: dict[str, dict[str, Any]] = {
        each.type or "": msgspec.to_builtins(each) for each in job.status.conditions or ()
    }
    wanted: list[tuple[str, str, str, str]] = []
    if end is not None:
        wanted.append((CRITERIA[end.type], "True", end.reason, end.message))
        if is_over:
            wanted.append((end.type, "True", end.reason, end.message))
    elif job.spec.suspend:
        wanted.append((SUSPENDED, "True", "JobSuspended", "Job suspended"))
    elif SUSPENDED in present:
        wanted.append((SUSPENDED, "False", "JobResumed", "Job resumed"))
    news = [each for each in wanted if present.get(each[0], {}).get("status") != each[1]]
    for kind, status, reason, message in news:
        facts = {"type": kind, "status": status, "reason": reason, "message": message}
        present[kind] = {**facts, "lastProbeTime": moment, "lastTransitionTime": moment}
    return list(present.values()) if news else None
