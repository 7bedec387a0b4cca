"""What is written about a job when a cycle ends: phase, counts, conditions, and reasons in words.

The words and their form are part of the contract with tools that read them from PodGroups and pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stromboli.framework.refusals import histogram
from stromboli.model.job import Job
from stromboli.model.reasons import Code, Reason
from stromboli.model.task import FINISHED_STATUSES, Task, TaskStatus

if TYPE_CHECKING:
    from stromboli.framework.session import Session

_RUNNING, _SUCCEEDED, _FAILED = TaskStatus.RUNNING.value, TaskStatus.SUCCEEDED.value, TaskStatus.FAILED.value
_RELEASING = TaskStatus.RELEASING.value

NOT_ENOUGH_RESOURCES = "NotEnoughResources"
READY_REASON = "tasks in gang are ready to be scheduled"


@dataclass(slots=True)
class Condition:
    type: str
    status: str
    reason: str
    message: str
    transition_id: str


@dataclass(slots=True)
class JobStatus:
    phase: str
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: Sequence[Condition] = ()
    reasons: Sequence[Reason] = ()
    sentences: Sequence[str] = ()


def status_of(session: Session, job: Job) -> JobStatus:
    """The status of a job as the session leaves it."""
    condition = _condition(session, job)
    unschedulable = condition is not None and condition.type == "Unschedulable"
    status = JobStatus(
        phase_of(job, unschedulable=unschedulable),
        job.counts[_RUNNING],
        job.counts[_SUCCEEDED],
        job.counts[_FAILED],
        () if condition is None else (condition,),
    )
    if unschedulable or job.pending_count or job.pipelined_count:
        status.reasons, status.sentences = _reasons(session, job)
    return status


def phase_of(job: Job, *, unschedulable: bool) -> str:
    """The phase that follows from where the tasks are.

    A group of which something runs while the rest cannot is Unknown; one without any scheduled task keeps its
    place in the queue.
    """
    counts = job.counts
    if unschedulable and counts[_RUNNING]:
        return "Unknown"
    scheduled = job.scheduled_count + counts[_RELEASING]
    if scheduled and scheduled >= job.min_available:
        finished = sum(counts[status] for status in FINISHED_STATUSES)
        return "Completed" if scheduled == finished else "Running"
    return "Inqueue" if job.phase == "Inqueue" else "Pending"


def _condition(session: Session, job: Job) -> Condition | None:
    if job.is_ready and job.tasks:
        return Condition("Scheduled", "True", READY_REASON, "", session.uid)
    if (not job.tasks and job.key not in session.refusals) or _is_only_ending(job):
        return None
    refusal = session.refusals.get(job.key)
    first = refusal.reasons[0] if refusal and refusal.reasons and not refusal.tasks else None
    reason = NOT_ENOUGH_RESOURCES if first is None else condition_reason(first.code)
    return Condition("Unschedulable", "True", reason, _message(session, job), session.uid)


def condition_reason(code: Code) -> str:
    """The CamelCase reason of the Unschedulable condition."""
    shortage = (
        Code.GANG_SHORT,
        Code.INSUFFICIENT_RESOURCE,
        Code.QUEUE_SHARE,
        Code.QUEUE_OVERUSED,
        Code.NOT_ADMITTED,
    )
    return NOT_ENOUGH_RESOURCES if code in shortage else code.value


def _is_only_ending(job: Job) -> bool:
    """Members are being removed and nobody waits: that is an end, not a failure."""
    counts = job.counts
    waiting = counts[TaskStatus.PENDING] + counts[TaskStatus.PIPELINED]
    releasing = counts[TaskStatus.RELEASING]
    return bool(releasing) and not waiting and job.scheduled_count + releasing >= job.min_available


def _message(session: Session, job: Job) -> str:
    schedulable = sum(1 for task in job.tasks.values() if _was_allocated(session, task))
    short = max(job.min_available - schedulable - job.ready_count, 0)
    return f"{short}/{len(job.tasks)} tasks in gang unschedulable: {fit_error(session, job)}"


def _was_allocated(session: Session, task: Task) -> bool:
    last = session.last_transactions.get(task.uid)
    return last is not None and last.status is TaskStatus.ALLOCATED and session.ledger.is_pending(task)


def fit_error(session: Session, job: Job) -> str:
    """Why a job is not ready: its tasks by status, then what each pending task could have, then the root of it."""
    ready = "pod group is ready" if job.is_ready else "pod group is not ready"
    counted = [(job.counts[status], status.word) for status in TaskStatus]
    text = f"{ready}, {histogram([*counted, (job.min_available, 'minAvailable')])}"
    pending = [task for task in job.tasks.values() if session.ledger.is_pending(task)]
    schedulable = sum(1 for task in pending if _was_allocated(session, task))
    if pending:
        text += "; Pending: " + histogram([(len(pending) - schedulable, "Unschedulable"), (schedulable, "Schedulable")])
    refusal = session.refusals.get(job.key)
    if refusal is None:
        return text
    if refusal.tasks:
        root = next(iter(refusal.tasks.values()))
        return f"{text}. Origin reason is {root.task}: {root.nodes or root.reason}"
    return f"{text}. Origin reason is {'; '.join(reason.detail for reason in refusal.reasons)}"


def _reasons(session: Session, job: Job) -> tuple[list[Reason], list[str]]:
    """Everything that keeps tasks of the job waiting, coded and in words."""
    refusal = session.refusals.get(job.key)
    queue = session.queue_refusals.get(job.queue)
    reasons = list(refusal.reasons) if refusal else []
    reasons += [task.reason for task in refusal.tasks.values()] if refusal else []
    sentences = refusal.sentences() if refusal else []
    if queue is not None and not sentences:
        reasons.append(queue)
        sentences.append(queue.detail)
    if job.pipelined_count:
        waiting = Reason(Code.PIPELINED, f"{job.pipelined_count} tasks wait for pods that are being released")
        reasons.append(waiting)
        sentences.append(waiting.detail)
    gated = sum(1 for task in job.tasks.values() if task.gated and session.ledger.is_pending(task))
    if gated:
        reasons.append(Reason(Code.SCHEDULING_GATED, f"{gated} pods have scheduling gates"))
        sentences.append(reasons[-1].detail)
    return reasons, sentences


def pod_condition(session: Session, task: Task) -> tuple[str, str] | None:
    """Reason and message of `PodScheduled=False` for a task that waits; None for one that does not."""
    status, name = session.ledger.status_of(task), task.key
    if task.gated or status not in (TaskStatus.PENDING, TaskStatus.ALLOCATED, TaskStatus.PIPELINED):
        return None
    last = session.last_transactions.get(task.uid)
    if status is TaskStatus.PIPELINED or (last and last.status is TaskStatus.PIPELINED):
        node = session.ledger.node_name(task) or (last.node if last else "")
        detail = (
            f"Pod {name} can possibly be assigned to {node}, once resource is released and minAvailable is satisfied"
        )
        return "Unschedulable", detail
    if last is not None:
        return (
            "Unschedulable",
            f"Pod {name} can possibly be assigned to {last.node}, once minAvailable is satisfied",
        )
    refusal = session.refusals.get(task.job)
    own = refusal.tasks.get(task.task_class.number) if refusal else None
    if own is not None:
        return "Unschedulable", str(own.nodes or own.reason)
    return "Unschedulable", fit_error(session, session.jobs[task.job])
