"""The status of a JobFlow: a function of its Jobs, and of what it recorded about those that were deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from stromboli.controllers.jobs import phases
from stromboli.controllers.owned_jobs import has_ended
from stromboli.kube.objects.volcano_jobs import (
    FlowJobCondition,
    FlowJobHistory,
    FlowJobStatus,
    JobFlowState,
    JobFlowStatus,
    VolcanoJob,
)

PENDING, RUNNING, SUCCEED, FAILED, TERMINATING = "Pending", "Running", "Succeed", "Failed", "Terminating"

#: The field with the names of the Jobs in each phase.
_LISTS = {
    phases.PENDING: "pending_jobs",
    phases.RUNNING: "running_jobs",
    phases.RESTARTING: "running_jobs",
    phases.COMPLETING: "running_jobs",
    phases.COMPLETED: "completed_jobs",
    phases.FAILED: "failed_jobs",
    phases.TERMINATING: "terminated_jobs",
    phases.TERMINATED: "terminated_jobs",
    phases.ABORTING: "terminated_jobs",
    phases.ABORTED: "terminated_jobs",
}
_UNKNOWN = "un_know_jobs"


def status_of(before: JobFlowStatus, names: Sequence[str], jobs: Mapping[str, VolcanoJob]) -> JobFlowStatus:
    """Return the status of a flow with Jobs of these `names`, of which `jobs` exist or ended just before."""
    entries = _entries(before.job_status_list or (), jobs)
    conditions = {name: each for name, each in (before.conditions or {}).items() if name in entries}
    conditions |= {name: _condition(job) for name, job in jobs.items()}
    lists: dict[str, Any] = dict.fromkeys((*_LISTS.values(), _UNKNOWN))
    for name, entry in entries.items():
        field = _LISTS.get(entry.state or "", _UNKNOWN)
        lists[field] = [*(lists[field] or ()), name]
    return JobFlowStatus(
        state=JobFlowState(_phase(before, names, entries)),
        job_status_list=list(entries.values()) or None,
        conditions=conditions or None,
        **lists,
    )


def in_phase(before: JobFlowStatus, phase: str) -> JobFlowStatus:
    return msgspec.structs.replace(before, state=JobFlowState(phase))


def states_of(status: JobFlowStatus) -> dict[str, str]:
    """Return the phases of the Jobs that a flow has created, by name."""
    return {entry.name or "": entry.state or "" for entry in status.job_status_list or ()}


def _entries(before: Iterable[FlowJobStatus], jobs: Mapping[str, VolcanoJob]) -> dict[str, FlowJobStatus]:
    """Return the entries of these Jobs, and the earlier ones of Jobs that were deleted after their end."""
    kept = {each.name or "": each for each in before if each.name in jobs or each.state in phases.FINISHED}
    return kept | {name: _entry(job) for name, job in sorted(jobs.items())}


def _entry(job: VolcanoJob) -> FlowJobStatus:
    state = job.status.state
    return FlowJobStatus(
        name=job.metadata.name,
        state=state.phase,
        start_timestamp=job.metadata.creation_timestamp,
        end_timestamp=state.last_transition_time if has_ended(job) else None,
        restart_count=job.status.retry_count or None,
        running_histories=_histories(job) or None,
    )


def _histories(job: VolcanoJob) -> list[FlowJobHistory]:
    """Return the phases of a Job with their times, which its conditions have; none is missed."""
    found: list[FlowJobHistory] = []
    for each in job.status.conditions or ():
        if found and found[-1].state == each.status:
            continue
        if found:
            found[-1].end_timestamp = each.last_transition_time
        found.append(FlowJobHistory(start_timestamp=each.last_transition_time, state=each.status))
    return found


def _condition(job: VolcanoJob) -> FlowJobCondition:
    status = job.status
    return FlowJobCondition(
        phase=status.state.phase,
        create_time=job.metadata.creation_timestamp,
        running_duration=status.running_duration,
        task_status_count=status.task_status_count,
    )


def _phase(before: JobFlowStatus, names: Sequence[str], entries: Mapping[str, FlowJobStatus]) -> str:
    """A Job that ended without success fails the flow: those after it are never created."""
    states = [entries[name].state if name in entries else None for name in names]
    if any(state in (phases.FAILED, phases.TERMINATED) for state in states):
        return FAILED
    if states and all(state == phases.COMPLETED for state in states):
        return SUCCEED
    has_started = any(_LISTS.get(state or "") in ("running_jobs", "completed_jobs") for state in states)
    return RUNNING if has_started or before.state.phase == RUNNING else PENDING
