"""The resource that nodes lack for a class of tasks: what it needs, and the largest free amount on a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.nodes.table import Index
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

#: Amounts by dimension and row.
Held = dict[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class Shortage:
    """A missing resource, and the node with the largest free amount of it."""

    dimension: int
    needed: int
    free: int
    row: int


def discarded_amounts(session: Session, job: Job) -> Held:
    """Return the amounts that the job used in the discarded attempt: they may fill a node."""
    held: Held = {}
    last_transactions = session.refusals.last_transactions
    for task in job.tasks.values() if last_transactions else ():
        last = last_transactions.get(task.uid)
        if last is not None and session.ledger.is_pending(task):
            row = session.nodes.index[last.node]
            for dimension, amount in task.task_class.request:
                held[dimension, row] = held.get((dimension, row), 0) + amount
    return held


def shortage_of(session: Session, task_class: TaskClass, reason: Reason, rows: Index, held: Held) -> Shortage | None:
    """Return the shortage on these nodes; None for other reasons, and if freed capacity suffices by now."""
    if reason.code is not Code.INSUFFICIENT_RESOURCE:
        return None
    dimension = session.axis.find(reason.detail.removeprefix("Insufficient "))
    needed = dict(task_class.request).get(dimension if dimension is not None else -1)
    if dimension is None or needed is None:
        return None
    free = session.ledger.all_rows.future_idle(dimension)
    own = [(row, amount) for (each, row), amount in held.items() if each == dimension]
    if own:
        free = free.copy()
        for row, amount in own:
            free[row] -= amount
    rows = np.sort(rows)
    best = int(rows[np.argmax(free[rows])])
    return None if free[best] >= needed else Shortage(dimension, needed, max(int(free[best]), 0), best)
