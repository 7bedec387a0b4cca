"""Status of a job at the end of a cycle: phase, counts, conditions.

They are part of the contract with tools that read PodGroups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import PODS_MISSING, Code, Reason
from stromboli.core.model.tasks.task import ENDING_STATUSES, FINISHED_STATUSES, TaskStatus
from stromboli.core.session.summaries import leading, summary_of
from stromboli.core.session.waiting_reasons import (
    causes,
    discarded_placements,
    fit_error,
    lead_of,
    led,
    lost_tasks,
    waiting_reasons,
)
from stromboli.core.topology.previous_domains import describe_placement

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_RUNNING, _SUCCEEDED, _FAILED = TaskStatus.RUNNING.value, TaskStatus.SUCCEEDED.value, TaskStatus.FAILED.value
_RELEASING, _PENDING, _PIPELINED = TaskStatus.RELEASING.value, TaskStatus.PENDING.value, TaskStatus.PIPELINED.value

PENDING, INQUEUE, COMPLETED = "Pending", "Inqueue", "Completed"
NOT_ENOUGH_RESOURCES = "NotEnoughResources"
READY_REASON = "tasks in gang are ready to be scheduled"
_SHORTAGES = (
    Code.GANG_DOES_NOT_FIT,
    Code.INSUFFICIENT_RESOURCE,
    Code.QUEUE_SHARE,
    Code.QUEUE_OVERUSED,
    Code.NOT_ADMITTED,
    Code.NO_DOMAIN,
)


@dataclass(slots=True)
class JobCondition:
    type: str
    status: str
    reason: str
    transition_id: str
    #: Builds the message when it is read.
    describe: Callable[[], str] | None = None
    _message: str | None = None

    @property
    def message(self) -> str:
        if self._message is None:
            self._message = "" if self.describe is None else self.describe()
        return self._message


@dataclass(slots=True)
class JobStatus:
    phase: str
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: Sequence[JobCondition] = ()
    #: Finds out why tasks of the job wait, when it is read.
    explain: Callable[[], tuple[Sequence[Reason], Sequence[str]]] | None = None
    #: Finds the most actionable cause and its short form, when it is read.
    lead: Callable[[], tuple[Code | None, str]] | None = None
    _explanation: tuple[Sequence[Reason], Sequence[str]] | None = None

    def _explained(self) -> tuple[Sequence[Reason], Sequence[str]]:
        if self._explanation is None:
            self._explanation = ((), ()) if self.explain is None else self.explain()
        return self._explanation

    @property
    def reasons(self) -> Sequence[Reason]:
        return self._explained()[0]

    @property
    def sentences(self) -> Sequence[str]:
        return self._explained()[1]

    @property
    def waits(self) -> bool:
        """Report whether tasks of the job wait, or are not created yet."""
        return self.lead is not None

    @property
    def cause(self) -> Code | None:
        """Return the most actionable cause why tasks of the job wait; None if none waits."""
        return None if self.lead is None else self.lead()[0]

    @property
    def summary(self) -> str:
        """Return why tasks of the job wait, in one line of at most 60 characters; empty if none waits."""
        return "" if self.lead is None else self.lead()[1]


def statuses_of(session: Session, keys: Iterable[str]) -> dict[str, JobStatus]:
    """Return the statuses of jobs. Jobs of which no task waits, and that were not refused, share the status of others
    with equal counts: thousands of evicted jobs usually differ only by name.
    """
    statuses, shared = dict[str, JobStatus](), dict[tuple[object, ...], JobStatus]()
    jobs, refusals = session.jobs, session.refusals
    for key in keys:
        job = jobs[key]
        counts = job.counts
        if key in refusals or counts[_PENDING] or not _is_plain(job):
            statuses[key] = status_of(session, job)
            continue
        alike = (job.phase, job.spec.min_available, _leaving(session, job), *counts)
        status = shared.get(alike)
        if status is None:
            status = status_of(session, job)
            if not status.waits:
                shared[alike] = status
        statuses[key] = status
    return statuses


def _is_plain(job: Job) -> bool:
    """Report whether the job has tasks, none of them waits, and no topology constrains them."""
    counts, spec = job.counts, job.spec
    return not (counts[_PENDING] or counts[_PIPELINED] or spec.topology or spec.policies or not job.tasks)


def status_of(session: Session, job: Job) -> JobStatus:
    """Return the status of a job at the end of the session."""
    leaving = _leaving(session, job)
    condition = _condition(session, job, leaving)
    unschedulable = condition is not None and condition.type == "Unschedulable"
    waits = unschedulable or job.pending_count or job.pipelined_count or _awaits_pods(session, job)
    return JobStatus(
        phase_of(job, unschedulable=unschedulable, leaving=leaving),
        job.counts[_RUNNING],
        job.counts[_SUCCEEDED],
        job.counts[_FAILED],
        () if condition is None else (condition,),
        partial(waiting_reasons, session, job) if waits else None,
        partial(lead_of, session, job) if waits else None,
    )


def _leaving(session: Session, job: Job) -> int:
    """Count tasks that are being removed from a node. A task without a node was never scheduled."""
    if not job.counts[_RELEASING]:
        return 0
    ledger, number = session.ledger, 0
    codes, node_rows = ledger.codes, ledger.node_rows
    for task in job.tasks.values():
        row = task.row
        if codes[row] == _RELEASING and node_rows[row] >= 0:
            number += 1
    return number


def phase_of(job: Job, *, unschedulable: bool, leaving: int = 0) -> str:
    """Return the phase that follows from the task counts; `leaving` tasks are being removed from a node.

    A group with running tasks of which the rest is unschedulable is Unknown; a group without scheduled tasks stays
    Inqueue. A completed group stays so when its finished tasks are removed, until it has new ones.
    """
    counts = job.counts
    if job.phase == COMPLETED and _has_ended(job):
        return COMPLETED
    if unschedulable and counts[_RUNNING]:
        return "Unknown"
    scheduled = job.scheduled_count + leaving
    if scheduled and scheduled >= job.min_available:
        finished = sum(counts[status] for status in FINISHED_STATUSES)
        return COMPLETED if scheduled == finished else "Running"
    return INQUEUE if job.phase == INQUEUE else PENDING


def _has_ended(job: Job) -> bool:
    """Report whether no task waits or runs: all have finished, or are being removed."""
    if job.pending_count or job.counts[_RUNNING]:
        return False
    return sum(job.counts) == sum(job.counts[status] for status in ENDING_STATUSES)


def _condition(session: Session, job: Job, leaving: int) -> JobCondition | None:
    refusal = session.refusals.get(job.key)
    if job.tasks and _has_enough(job, refused=refusal is not None):
        constrained = job.spec.topology or any(policy.topology for policy in job.spec.policies)
        describe = partial(describe_placement, session, job) if constrained else None
        return JobCondition("Scheduled", "True", READY_REASON, session.uid, describe)
    if (not job.tasks and refusal is None) or _is_ending(job, leaving) or _awaits_pods(session, job):
        return None
    first = session.impossible.find(job) or lost_tasks(session, job) or _leading_refusal(session, job)
    reason = NOT_ENOUGH_RESOURCES if first is None else condition_reason(first.code)
    return JobCondition("Unschedulable", "True", reason, session.uid, partial(_message, session, job))


def _awaits_pods(session: Session, job: Job) -> bool:
    """Report whether the job is admitted and has no pods: its controller creates them, nothing is unschedulable."""
    if job.tasks or job.phase != INQUEUE or session.impossible.find(job) is not None:
        return False
    refusal = session.refusals.get(job.key)
    return refusal is not None and all(reason.code in PODS_MISSING for reason in refusal.reasons)


def _leading_refusal(session: Session, job: Job) -> Reason | None:
    """Return the reason that keeps the whole job waiting. Missing pods come last: controllers create pods when the job
    is admitted.
    """
    refusal = session.refusals.get(job.key)
    if refusal is None or refusal.tasks or not refusal.reasons:
        return None
    real = [reason for reason in refusal.reasons if reason.code not in PODS_MISSING]
    return leading(real) if real else session.refusals.queues.get(job.queue) or leading(refusal.reasons)


def condition_reason(code: Code) -> str:
    """Return the CamelCase reason of the Unschedulable condition."""
    return NOT_ENOUGH_RESOURCES if code in _SHORTAGES else code.value


def is_short_of_tasks(job: Job, leaving: int, *, refused: bool) -> bool:
    """Report whether a job is unschedulable for its tasks; `refused` if the last cycle has not placed all of them."""
    return not _has_enough(job, refused=refused) and not _is_ending(job, leaving)


def _has_enough(job: Job, *, refused: bool) -> bool:
    return job.is_ready and (not refused or job.ready_count >= job.min_available)


def _is_ending(job: Job, leaving: int) -> bool:
    """Report whether the job has finished, or tasks are being removed and none waits: it is not unschedulable."""
    if _has_ended(job) and phase_of(job, unschedulable=False, leaving=leaving) == COMPLETED:
        return True
    waiting = job.pending_count + job.pipelined_count
    return bool(leaving) and not waiting and job.scheduled_count + leaving >= job.min_available


def _message(session: Session, job: Job) -> str:
    """Return the message of a waiting job: the short form of its most actionable cause, then the long form."""
    refusal, found = session.refusals.get(job.key), causes(session, job)
    lead = summary_of(session, job, found)
    if lost_tasks(session, job) or (refusal is not None and not refusal.tasks):
        text = "; ".join(cause.detail for cause in found)
        return led(lead, text) if found and found[0].has_own_short else text
    return led(lead, _counted_tasks(session, job, found, lead))


def _counted_tasks(session: Session, job: Job, found: Sequence[Reason], stated: str) -> str:
    total = len(job.tasks)
    short = min(max(job.min_available - discarded_placements(session, job) - job.ready_count, 0), total)
    return f"{short}/{total} tasks in gang unschedulable: {fit_error(session, job, found, stated)}"
