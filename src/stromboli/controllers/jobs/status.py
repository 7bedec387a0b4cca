"""The status of a Job: counts, conditions, and the patch that changes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stromboli.controllers.jobs import phases
from stromboli.controllers.jobs.decisions import Transition, counts_of
from stromboli.controllers.jobs.pods import JobPod
from stromboli.controllers.jobs.specification import JobSpecification
from stromboli.controllers.jobs.target import RestartTarget
from stromboli.controllers.status_patches import merge_patch
from stromboli.kube.objects.timestamps import stamp
from stromboli.kube.objects.volcano_jobs import (
    VolcanoJobCondition,
    VolcanoJobState,
    VolcanoJobStatus,
    VolcanoTaskState,
)

#: The entry of `controlledResources`, beside those of plugins and volumes, for what a restart replaces.
_TARGET = "restart"
MAX_CONDITIONS = 100
#: Reasons why the pods of a Job cannot be created.
PROBLEMS = ("InvalidJob", "PVCError", "PluginError", "PodGroupError", "FailedCreate")


def target_of(status: VolcanoJobStatus) -> RestartTarget:
    return RestartTarget.parse((status.controlled_resources or {}).get(_TARGET, ""))


def initial_status(status: VolcanoJobStatus, now: float) -> VolcanoJobStatus:
    """Return the status of a new Job."""
    return status if status.state.phase else _in_phase(status, phases.PENDING, "", "", now)


def status_after(status: VolcanoJobStatus, transition: Transition, began: float | None, now: float) -> VolcanoJobStatus:
    """Return the status after a change of phase, of a Job that began at this time."""
    status = _in_phase(status, transition.phase, transition.reason, transition.message, now)
    resources = dict(status.controlled_resources or {})
    resources.pop(_TARGET, None)
    if not transition.target.is_job:
        resources[_TARGET] = str(transition.target)
    ended = transition.phase in phases.FINISHED and began is not None
    return msgspec.structs.replace(
        status,
        version=transition.version,
        retry_count=transition.retry_count,
        controlled_resources=resources or None,
        running_duration=go_duration(now - began) if ended and began is not None else status.running_duration,
    )


def counted_status(
    status: VolcanoJobStatus, spec: JobSpecification, pods: Iterable[JobPod], created: Mapping[str, str]
) -> VolcanoJobStatus:
    """Return the status with the counts of these pods, and the objects that were `created`."""
    members = list(pods)
    counts = counts_of(members)
    own = {key: value for key, value in (status.controlled_resources or {}).items() if key == _TARGET}
    return msgspec.structs.replace(
        status,
        min_available=spec.min_available,
        pending=counts.pending,
        running=counts.running,
        succeeded=counts.succeeded,
        failed=counts.failed,
        terminating=counts.terminating,
        unknown=counts.unknown,
        task_status_count=_by_task(members),
        version=status.version or 0,
        retry_count=status.retry_count or 0,
        controlled_resources={**created, **own} or None,
    )


def records(status: VolcanoJobStatus, created: Mapping[str, str]) -> bool:
    """Report whether a status names these objects: only objects that it names are deleted."""
    return {key: value for key, value in (status.controlled_resources or {}).items() if key != _TARGET} == created


def with_problem(status: VolcanoJobStatus, reason: str, message: str, now: float) -> VolcanoJobStatus:
    """Return the status with a problem, in its phase; Pending for a new Job."""
    if not status.state.phase:
        return _in_phase(status, phases.PENDING, reason, message, now)
    return _with_state(status, reason, message)


def without_problem(status: VolcanoJobStatus) -> VolcanoJobStatus:
    """Return the status after a problem was resolved."""
    return _with_state(status, None, None) if status.state.reason in PROBLEMS else status


def status_patch(old: VolcanoJobStatus, new: VolcanoJobStatus) -> dict[str, Any]:
    """Return the merge patch from one status to another; empty if they are equal."""
    return merge_patch(msgspec.to_builtins(old), msgspec.to_builtins(new))


def go_duration(seconds: float) -> str:
    """Format a duration as Go does, in whole seconds."""
    minutes, rest = divmod(max(int(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _with_state(status: VolcanoJobStatus, reason: str | None, message: str | None) -> VolcanoJobStatus:
    state = msgspec.structs.replace(status.state, reason=reason, message=message)
    return msgspec.structs.replace(status, state=state)


def _in_phase(status: VolcanoJobStatus, phase: str, reason: str, message: str, now: float) -> VolcanoJobStatus:
    moment = stamp(now)
    state = VolcanoJobState(phase, reason or None, message or None, moment)
    condition = VolcanoJobCondition(phase, moment, reason or None, message or None)
    conditions = [*(status.conditions or ()), condition][-MAX_CONDITIONS:]
    return msgspec.structs.replace(status, state=state, conditions=conditions)


def _by_task(pods: Iterable[JobPod]) -> dict[str, VolcanoTaskState] | None:
    counts: dict[str, Counter[str]] = {}
    for pod in pods:
        if not pod.is_terminating:
            counts.setdefault(pod.task, Counter())[pod.phase] += 1
    return {task: VolcanoTaskState(dict(phases_)) for task, phases_ in sorted(counts.items())} or None
