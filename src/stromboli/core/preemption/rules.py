"""The terms on which an action takes room: from whom, and who is asked whether that is lawful."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Reason
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.preemption.cost import BY_COST, Comparison
from stromboli.core.preemption.thrash_guard import ThrashGuard


def _itself(preemptor: Task) -> object:
    return preemptor


@dataclass(frozen=True, slots=True)
class Terms:
    #: The name of the action: the reason that victims are told.
    action: str
    #: The name of the question that plugins are asked: `preemptable`, `reclaimable` or `evictable`.
    question: str
    #: Whether victims are of the claimant's own queue; otherwise they are of other queues.
    own_queue: bool
    #: Victims are in one of these.
    statuses: tuple[TaskStatus, ...]
    #: Which candidates may be evicted for a claimant: the plugins' answer.
    allowed: Callable[[Task, Sequence[Task]], list[Task]]
    #: Whether a claimant of this job may take anything from that job at all.
    reaches: Callable[[Job, Job], bool]
    #: Who may not take from whom, because it was the other way round a short while ago.
    thrash_guard: ThrashGuard
    #: Why nothing may be claimed for a task now; None when it may.
    may_preempt: Callable[[Task], Reason | None]
    #: For whom plugins are asked: what their answers get as the first argument.
    subject: Callable[[Task], object] = _itself
    #: Whether gangs may go whole; otherwise only members go that a gang can spare.
    evicts_whole_gangs: bool = True
    comparison: Comparison = BY_COST
