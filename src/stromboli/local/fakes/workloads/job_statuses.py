"""Status updates of Jobs."""

from __future__ import annotations

from typing import Any

import msgspec

from stromboli.kube.objects.workloads import BatchJob
from stromboli.local.fakes.timestamps import stamp
from stromboli.local.fakes.workloads.job_rules import (
    COMPLETE,
    CRITERIA,
    SUSPENDED,
    Counts,
    JobEnding,
    index_text,
    is_indexed,
)


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
