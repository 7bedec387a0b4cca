"""The waiting pods of a job by class: their requests, and the reasons of each node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Code, Remedy
from stromboli.core.model.resources.resources import PODS
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.session.refusals import NodeRefusals, TaskRefusal
from stromboli.core.session.session import Session
from stromboli.core.session.shortages import Held, Shortage, discarded_amounts, shortage_of


@dataclass(frozen=True, slots=True)
class NodeRefusal:
    """A reason with its nodes; for a shortage also the largest free amount on these nodes."""

    code: Code
    reason: str
    nodes: tuple[str, ...]
    largest_free: tuple[str, str, str] | None = None
    """Resource, amount and node."""


@dataclass(frozen=True, slots=True)
class ClassExplanation:
    """Pods that no rule can distinguish."""

    role: str
    pods: tuple[str, ...]
    gated: int
    request: dict[str, str]
    #: Whether the node search failed. Otherwise the node reasons are those at the end of the cycle.
    found_no_node: bool
    #: Why no node was searched for these pods.
    reason: str
    #: Number of pods that were placed in the discarded attempt.
    placed: int
    nodes: int
    #: Number of nodes that are feasible for one more of these pods.
    open_nodes: int
    refusals: tuple[NodeRefusal, ...]


def classes_of(session: Session, job: Job) -> list[ClassExplanation]:
    waiting: dict[int, list[Task]] = {}
    for task in sorted(job.tasks.values(), key=session.task_order_key):
        if session.ledger.status_of(task) in (TaskStatus.PENDING, TaskStatus.PIPELINED):
            waiting.setdefault(task.task_class.number, []).append(task)
    refusals = session.refusals[job.key].tasks if job.key in session.refusals else {}
    return [_explain(session, job, tasks, refusals.get(number)) for number, tasks in waiting.items()]


def _explain(session: Session, job: Job, tasks: Sequence[Task], refusal: TaskRefusal | None) -> ClassExplanation:
    task_class, last = tasks[0].task_class, session.refusals.last_transactions
    recorded = refusal.nodes if refusal else None
    nodes = recorded or session.search.refusals(task_class)
    refused_rows = np.unique(np.concatenate([rows for _, rows in nodes.groups])) if nodes.groups else ()
    held = discarded_amounts(session, job) if recorded else {}
    return ClassExplanation(
        role=task_class.role,
        pods=tuple(task.key for task in tasks),
        gated=sum(1 for task in tasks if task.gated),
        request=session.axis.as_quantities(_dense(session, task_class)),
        found_no_node=recorded is not None,
        reason=_reason(session, job, refusal) if refusal and recorded is None else "",
        placed=sum(1 for task in tasks if task.uid in last) or (refusal.placed if refusal else 0),
        nodes=nodes.total,
        open_nodes=nodes.total - len(refused_rows),
        refusals=tuple(_node_refusals(session, task_class, nodes, held)),
    )


def _reason(session: Session, job: Job, refusal: TaskRefusal) -> str:
    """Return why no node was searched; empty for what waiting would resolve in a job that can never start."""
    is_moot = refusal.reason.remedy is Remedy.WAIT and session.impossible.find(job) is not None
    return "" if is_moot else refusal.reason.detail


def _dense(session: Session, task_class: TaskClass) -> list[int]:
    amounts = [0] * len(session.axis)
    for dimension, amount in task_class.request:
        amounts[dimension] = amount if dimension != PODS else 0
    return amounts


def _node_refusals(session: Session, task_class: TaskClass, nodes: NodeRefusals, held: Held) -> Iterator[NodeRefusal]:
    """Yield the reasons of the nodes, the most frequent first."""
    names = session.nodes.names
    for reason, rows in sorted(nodes.groups, key=lambda group: (-len(group[1]), group[0].detail)):
        free = _largest_free(session, shortage_of(session, task_class, reason, rows, held))
        yield NodeRefusal(reason.code, reason.detail, tuple(names[row] for row in rows.tolist()), free)


def _largest_free(session: Session, shortage: Shortage | None) -> tuple[str, str, str] | None:
    if shortage is None:
        return None
    axis, dimension = session.axis, shortage.dimension
    return axis.names[dimension], axis.format(dimension, shortage.free), session.nodes.names[shortage.row]
