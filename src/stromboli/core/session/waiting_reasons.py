"""Reasons why tasks of a job wait: codes and messages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import IMPOSSIBLE, PODS_MISSING, Code, Reason, Remedy
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.session.refusals import JobRefusal, histogram
from stromboli.core.session.summaries import rank, summary_of

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


#: A status name per entry of a job's counters.
_STATUS_NAMES = [status.label for status in TaskStatus]


def counted(number: int, thing: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def too_few_tasks(job: Job) -> Reason:
    """The reason of a job with fewer pods than must start together."""
    detail = f"Not enough valid tasks for gang-scheduling, valid: {job.valid_count}, min: {job.min_available}"
    return Reason(Code.NOT_ENOUGH_TASKS, detail, short=f"{job.valid_count} of {job.min_available} pods exist")


def lost_tasks(session: Session, job: Job) -> Reason | None:
    """The reason of a started job that has fewer pods than its minimum: such a job is not considered in a cycle."""
    is_short = session.refusals.get(job.key) is None and job.valid_count < job.min_available
    return too_few_tasks(job) if is_short else None


def waiting_reasons(session: Session, job: Job) -> tuple[list[Reason], list[str]]:
    """Return everything that keeps tasks of the job waiting: the reasons, with those of nodes one by one, and the
    messages.
    """
    found = causes(session, job)
    return _coded(session, job, found), [cause.detail for cause in found]


def lead_of(session: Session, job: Job) -> tuple[Code | None, str]:
    """Return the most actionable cause, and its short form; None and empty if no reason is recorded."""
    found = causes(session, job)
    return (found[0].code if found else None), summary_of(session, job, found)


def causes(session: Session, job: Job) -> list[Reason]:
    """Return everything that keeps tasks of the job waiting, the most actionable first. Reasons that only invite to
    wait are left out if a request can never be satisfied, unless the job has started.
    """
    refusal, queue = session.refusals.get(job.key), session.refusals.queues.get(job.queue)
    others = [each for each in _others(session, job) if each]
    impossible = session.impossible.find(job)
    if impossible is not None and not job.is_ready:
        refusal, queue = refusal.lasting() if refusal else None, None
        others = [each for each in others if each.remedy is not Remedy.WAIT]
    found = refusal.causes() if refusal else []
    if queue is not None and all(each.code in PODS_MISSING for each in found):
        found.append(queue)
    found += [impossible, *others] if impossible is not None else others
    if len(found) < 2:
        return found
    return sorted(dict.fromkeys(found), key=partial(rank, gates_block=gates_block(job)))


def gates_block(job: Job) -> bool:
    """Report whether the job cannot start because of scheduling gates: it has too few pods without."""
    return sum(1 for task in job.tasks.values() if not task.gated) < job.min_available


def _others(session: Session, job: Job) -> tuple[Reason | None, ...]:
    lost, pipelined = lost_tasks(session, job), _pipelined(job)
    if any(task.held_back for task in job.tasks.values()):
        return lost, pipelined, _gated(session, job), _resting(session, job)
    return lost, pipelined


def _coded(session: Session, job: Job, found: list[Reason]) -> list[Reason]:
    refusal = session.refusals.get(job.key)
    tasks = {task.reason: task for task in refusal.tasks.values() if task.nodes} if refusal else {}
    reasons = []
    for cause in found:
        task = tasks.get(cause)
        reasons += [reason for reason, _ in task.nodes.groups] if task and task.nodes and task.nodes.groups else [cause]
        if task and task.placed and not job.is_ready:
            detail = f"{task.placed} of {job.min_available} tasks that must start together fit"
            reasons.append(Reason(Code.GANG_DOES_NOT_FIT, detail))
    if found and found[0].code in IMPOSSIBLE and not job.is_ready:
        return [each for each in reasons if each.remedy is not Remedy.WAIT]
    return reasons


def _pipelined(job: Job) -> Reason | None:
    if not job.pipelined_count:
        return None
    who = counted(job.pipelined_count, "task")
    short = f"{counted(job.pipelined_count, 'pod')} will start when terminating pods are gone"
    return Reason(Code.PIPELINED, f"{who} will start once the pods that are being released are gone", short=short)


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


def fit_error(session: Session, job: Job, found: Sequence[Reason], stated: str = "") -> str:
    """Describe why a job is not ready: its tasks by status, what each pending task could get, and its causes, without
    one that is stated already.
    """
    ready = "pod group is ready" if job.is_ready else "pod group is not ready"
    by_status = [(number, word) for number, word in zip(job.counts, _STATUS_NAMES, strict=False) if number]
    text = f"{ready}, {histogram([*by_status, (job.min_available, 'minAvailable')])}"
    if job.pending_count:
        schedulable = discarded_placements(session, job)
        unschedulable = job.pending_count - schedulable
        text += "; Pending: " + histogram([(unschedulable, "Unschedulable"), (schedulable, "Schedulable")])
    origin = _origin(session, job, found, stated)
    return f"{text}. Origin reason is {origin}" if origin else text


def _origin(session: Session, job: Job, found: Sequence[Reason], stated: str) -> str:
    """Return the reason of one task without a node, and the reasons of the whole job, each fact once."""
    refusal = session.refusals.get(job.key) or JobRefusal()
    tasks = refusal.tasks.values()
    if session.impossible.find(job) is not None:
        root = next((task for task in tasks if task.nodes), None)
    else:
        root = next((task for cause in found for task in tasks if task.reason is cause), None)
    of_tasks = {task.reason for task in tasks if task is root or task.reason not in refusal.reasons}
    left_out = (each.code is Code.PIPELINED or each.detail == stated or each in of_tasks for each in found)
    others = "; ".join(each.detail for each, is_left_out in zip(found, left_out, strict=True) if not is_left_out)
    if root is None or root.reason.detail == stated:
        return others
    origin = f"{root.task}: {root.reason}"
    return f"{origin}{' ' if origin.endswith('.') else '; '}{others}" if others else origin


def led(lead: str, text: str) -> str:
    """Return the text after its lead, unless the lead is a part of it."""
    return text if lead in text else f"{lead}{'' if lead.endswith('.') else '.'} {text}"


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
    if last is not None or (status is TaskStatus.ALLOCATED and impossible is None):
        node = last.node if last else session.ledger.node_name(task)
        return "Unschedulable", f"Pod {name} can possibly be assigned to {node}, once minAvailable is satisfied"
    refusal = session.refusals.get(task.job)
    own = refusal.tasks.get(task.task_class.number) if refusal else None
    if impossible is not None:
        nodes = f": {own.nodes}" if own and own.nodes else ""
        return "Unschedulable", f"{impossible.detail}{nodes}"
    if own is not None:
        return "Unschedulable", own.reason.detail
    job = session.jobs[task.job]
    found = causes(session, job)
    lead = summary_of(session, job, found)
    return "Unschedulable", led(lead, fit_error(session, job, found, lead))
