"""Rules of Jobs: completion, missing pods and excess pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stromboli.kube.objects.meta import KubeCondition
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.workloads import BatchJob
from stromboli.local.fakes.timestamps import seconds_of
from stromboli.local.fakes.workloads.pod_states import first_to_go

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
    """Without completions, the first success completes the Job as soon as no pod is active."""
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
        surplus += first_to_go(kept)[: len(kept) - wanted]
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
    """Parse such a text; invalid parts are ignored."""
    found: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)
