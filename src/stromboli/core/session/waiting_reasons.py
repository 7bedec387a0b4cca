"""Reasons why tasks of a job wait: codes and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Code, Reason, Remedy
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.session.refusals import JobRefusal, histogram

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


#: A status name per entry of a job's counters.
_STATUS_NAMES = [status.label for status in TaskStatus]


def counted(number: int, thing: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def waiting_reasons(session: Session, job: Job) -> tuple[list[Reason], list[str]]:
    """Return everything that keeps tasks of the job waiting: every code once, and the messages. A request that cannot
    be satisfied comes first; then reasons that only invite to wait are left out, unless the job has started.
    """
    refusal, queue = session.refusals.get(job.key), session.refusals.queues.get(job.queue)
    others = [each for each in (_pipelined(job), _gated(session, job), _resting(session, job)) if each]
    impossible = session.impossible.find(job)
    if impossible is not None and not job.is_ready:
        refusal, queue = refusal.lasting() if refusal else None, None
        others = [each for each in others if each.remedy is not Remedy.WAIT]
    reasons = _coded(job, refusal) if refusal else []
    sentences = refusal.sentences() if refusal else []
    if queue is not None and not sentences:
        others.insert(0, queue)
    reasons, sentences = reasons + others, sentences + [each.detail for each in others]
    if impossible is None:
        return reasons, sentences
    if not job.is_ready:
        reasons = [each for each in reasons if each.remedy is not Remedy.WAIT]
    return [impossible, *reasons], list(dict.fromkeys([impossible.detail, *sentences]))


def _coded(job: Job, refusal: JobRefusal) -> list[Reason]:
    reasons = list(refusal.reasons)
    for task in refusal.tasks.values():
        reasons += [reason for reason, _ in task.nodes.groups] if task.nodes and task.nodes.groups else [task.reason]
        if task.placed and not job.is_ready:
            detail = f"{task.placed} of {job.min_available} tasks that must start together fit"
            reasons.append(Reason(Code.GANG_DOES_NOT_FIT, detail))
    return reasons


def _pipelined(job: Job) -> Reason | None:
    if not job.pipelined_count:
        return None
    who = counted(job.pipelined_count, "task")
    return Reason(Code.PIPELINED, f"{who} will start once the pods that are being released are gone")


def _gated(session: Session, job: Job) -> Reason | None:
    gated = sum(1 for task in job.tasks.values() if task.gated and session.ledger.is_pending(task))
    return Reason(Code.SCHEDULING_GATED, f"scheduling gates hold back {counted(gated, 'pod')}") if gated else None


def _resting(session: Session, job: Job) -> Reason | None:
    resting = sum(1 for task in job.tasks.values() if task.in_backoff and session.ledger.is_pending(task))
    return (
        Reason(Code.BIND_FAILED, f"{counted(resting, 'pod')} failed to bind and will be retried") if resting else None
    )


def discarded_placements(session: Session, job: Job) -> int:
    """Count pending tasks that had a node in the discarded attempt."""
    if not session.refusals.last_transactions:
        return 0
    return sum(1 for task in job.tasks.values() if _was_placed(session, task))


def _was_placed(session: Session, task: Task) -> bool:
    last = session.refusals.last_transactions.get(task.uid)
    return last is not None and last.status is TaskStatus.ALLOCATED and session.ledger.is_pending(task)


def fit_error(session: Session, job: Job) -> str:
    """Describe why a job is not ready: its tasks by status, what each pending task could get, and the root cause."""
    ready = "pod group is ready" if job.is_ready else "pod group is not ready"
    by_status = [(number, word) for number, word in zip(job.counts, _STATUS_NAMES, strict=False) if number]
    text = f"{ready}, {histogram([*by_status, (job.min_available, 'minAvailable')])}"
    if job.pending_count:
        schedulable = discarded_placements(session, job)
        unschedulable = job.pending_count - schedulable
        text += "; Pending: " + histogram([(unschedulable, "Unschedulable"), (schedulable, "Schedulable")])
    refusal, impossible = session.refusals.get(job.key), session.impossible.find(job)
    if impossible is not None:
        tasks = refusal.tasks.values() if refusal else ()
        origin = next((f". Origin reason is {each.task}: {each.nodes}" for each in tasks if each.nodes), "")
        return f"{impossible.detail}; {text}{origin}"
    if refusal is None:
        held = [reason.detail for reason in (_gated(session, job), _resting(session, job)) if reason]
        return f"{text}. Origin reason is {'; '.join(held)}" if held else text
    others = "; ".join(reason.detail for reason in refusal.reasons)
    if refusal.tasks:
        root = next(iter(refusal.tasks.values()))
        origin = f"{text}. Origin reason is {root.task}: {root.nodes or root.reason}"
        return f"{origin}{' ' if origin.endswith('.') else '; '}{others}" if others else origin
    return f"{text}. Origin reason is {others}"


def pod_condition(session: Session, task: Task) -> tuple[str, str] | None:
    """Return reason and message of `PodScheduled=False` for a waiting task; None for other tasks."""
    status, name = session.ledger.status_of(task), task.key
    if task.held_back or status not in (TaskStatus.PENDING, TaskStatus.ALLOCATED, TaskStatus.PIPELINED):
        return None
    impossible = session.impossible.find_for(task)
    last = None if impossible else session.refusals.last_transactions.get(task.uid)
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
    if impossible is not None:
        nodes = f": {own.nodes}" if own and own.nodes else ""
        return "Unschedulable", f"{impossible.detail}{nodes}"
    if own is not None:
        return "Unschedulable", str(own.nodes or own.reason)
    return "Unschedulable", fit_error(session, session.jobs[task.job])
