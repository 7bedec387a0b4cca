"""Why a job waits, in one line: its most actionable cause, with numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import IMPOSSIBLE, Code, Reason, Remedy, shortened_line
from stromboli.core.session.refusals import NodeRefusals, TaskRefusal
from stromboli.core.session.shortages import Held, Shortage, discarded_amounts, shortage_of

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

#: The job has its capacity already: other refusals of the cycle do not matter.
_SETTLED = frozenset((Code.PIPELINED, Code.START_RESERVED, Code.NODES_RESERVED))
#: They follow from another cause, or state why a way around it failed.
_SECONDARY = frozenset((
    Code.NO_PODS,
    Code.NOT_ADMITTED,
    Code.ROLE_REFUSED,
    Code.SCHEDULING_GATED,
    Code.BIND_FAILED,
    Code.NO_PREEMPTABLE_PODS,
    Code.PREEMPTION_INSUFFICIENT,
    Code.DISRUPTION_BUDGET,
    Code.NEVER_PREEMPTS,
    Code.PREEMPTION_RATE,
    Code.PREEMPTION_POSTPONED,
))  # fmt: skip
#: More specific than the reasons of the nodes, which follow from them.
_SPECIFIC = frozenset((Code.NO_DOMAIN, Code.QUEUE_ORDER))
_REMEDIES = (Remedy.CHANGE_REQUEST, Remedy.ASK_ADMINISTRATOR, Remedy.WAIT)


def rank(reason: Reason, gates_block: bool = False) -> tuple[int, int, bool]:
    """Return the place of a reason among others: first requests that can never be satisfied, then what the owner of the
    job can change, then what an administrator can. A domain, and the order of a strict queue, are more specific than
    the nodes. Gates are a cause if they block the start of the job.
    """
    code = reason.code
    is_secondary = code in _SECONDARY and not (gates_block and code is Code.SCHEDULING_GATED)
    kind = 0 if code in IMPOSSIBLE else 1 if code in _SETTLED else 3 if is_secondary else 2
    return kind, _REMEDIES.index(reason.remedy), code not in _SPECIFIC


def leading(reasons: list[Reason]) -> Reason:
    """Return the reason that comes first; usually the first one that was recorded."""
    return min(reasons, key=rank) if len(reasons) > 1 and reasons[0].code in _SECONDARY else reasons[0]


def summary_of(session: Session, job: Job, causes: list[Reason]) -> str:
    """Return the short form of the first cause; empty without causes."""
    if not causes:
        return ""
    refusal = session.refusals.get(job.key)
    tasks = refusal.tasks.values() if refusal else ()
    task = next((each for each in tasks if each.nodes is not None and each.reason is causes[0]), None)
    return causes[0].short if task is None or task.nodes is None else _node_summary(session, job, task, task.nodes)


def _node_summary(session: Session, job: Job, refusal: TaskRefusal, nodes: NodeRefusals) -> str:
    """Return the short form for a task that found no node; jobs of one class share it."""
    held, known = discarded_amounts(session, job), session.refusals.node_summaries
    if held:
        return _described(session, job, refusal, nodes, held)
    key = id(nodes), refusal.placed if not job.is_ready else 0, job.min_available
    if key not in known:
        known[key] = _described(session, job, refusal, nodes, held)
    return known[key]


def _described(session: Session, job: Job, refusal: TaskRefusal, nodes: NodeRefusals, held: Held) -> str:
    """`needs 8 cpu, most free on a node is 4`, or the reasons of the nodes; with the part of the gang that fits."""
    shortage = _shortage(session, job, refusal, nodes, held)
    if not refusal.placed or job.is_ready:
        return nodes.short if shortage is None else _needs(session, shortage, "needs", "most free on a node is")
    fit = f"{refusal.placed} of {job.min_available} pods fit"
    rest = nodes.short if shortage is None else _needs(session, shortage, "the next needs", "most free is")
    return shortened_line(f"{fit}; {rest}")


def _shortage(session: Session, job: Job, refusal: TaskRefusal, nodes: NodeRefusals, held: Held) -> Shortage | None:
    """Return the only resource that the nodes lack, if it is the only reason."""
    if len(nodes.groups) != 1:
        return None
    classes = (task.task_class for task in job.tasks.values())
    task_class = next((each for each in classes if each.number == refusal.class_number), None)
    if task_class is None:
        return None
    return shortage_of(session, task_class, *nodes.groups[0], held)


def _needs(session: Session, shortage: Shortage, needs: str, free: str) -> str:
    axis, dimension = session.axis, shortage.dimension
    needed, amount = axis.short(dimension, shortage.needed), axis.short_amount(dimension, shortage.free)
    return shortened_line(f"{needs} {needed}, {free} {amount}")
