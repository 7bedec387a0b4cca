"""What a scheduler reports about jobs and pods. Times are seconds since the epoch; None while they are unknown.

The structs are arrays on the wire: a batch is one JSON document, whose elements are the columns of a table in order.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

SUCCEEDED, FAILED, UNKNOWN = "Succeeded", "Failed", "Unknown"
"""How a pod ended. Unknown: it was gone when the scheduler started. A pod that was deleted has no outcome."""


class RecordedJob(msgspec.Struct, array_like=True, frozen=True):
    """One PodGroup. A PodGroup of the same name that is created later is another job."""

    uid: str
    namespace: str
    name: str
    #: The name that users know: of the owner if the PodGroup was created for it, else of the PodGroup.
    title: str
    queue: str
    scheduler: str
    owner_kind: str
    owner_name: str
    user_name: str
    min_member: int
    priority_class: str
    created: float
    deleted: float | None = None
    #: When it was deleted because its workload was suspended.
    suspended: float | None = None


class RecordedPod(msgspec.Struct, array_like=True, frozen=True):
    """One pod: one attempt to run one member of a job."""

    uid: str
    #: The uid of the PodGroup; empty if it is not known any more, which a pod that was recorded before does not need.
    job: str
    name: str
    node: str | None = None
    #: A hash of what the pod runs and requests, to find equal pods of earlier jobs.
    template: str | None = None
    #: Requests by resource name, as JSON.
    requests: str | None = None
    created: float | None = None
    started: float | None = None
    ended: float | None = None
    outcome: str | None = None
    #: Why the pod failed or was removed, as Kubernetes reports it.
    cause: str | None = None
    evicted: float | None = None
    #: Why this scheduler evicted the pod, and in favour of which job.
    reason: str | None = None
    preemptor: str | None = None


R = TypeVar("R", RecordedJob, RecordedPod)


def merged_job(one: RecordedJob, later: RecordedJob) -> RecordedJob:
    """Return the later facts of a job; a deletion stays."""
    if one.deleted is None:
        return later
    return msgspec.structs.replace(later, deleted=one.deleted, suspended=one.suspended)


def merged_pod(one: RecordedPod, later: RecordedPod) -> RecordedPod:
    """Return the first known value of every column, as the database keeps it."""
    values = {
        name: getattr(later, name)
        for name in RecordedPod.__struct_fields__
        if getattr(one, name) is None or (name == "job" and not one.job)
    }
    return msgspec.structs.replace(one, **values)
