"""The terms on which an action takes room: from whom, and who is asked whether that is lawful."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stromboli.framework.eviction.truce import Truce
from stromboli.model.job import Job
from stromboli.model.reasons import Reason
from stromboli.model.task import Task, TaskStatus


@dataclass(frozen=True, slots=True)
class Terms:
    #: The name of the action: the reason that victims are told.
    action: str
    #: The name of the question that plugins are asked: `preemptable` or `reclaimable`.
    question: str
    #: Victims are in one of these.
    statuses: tuple[TaskStatus, ...]
    #: Which candidates may be evicted for a claimant: the plugins' answer.
    lawful: Callable[[Task, Sequence[Task]], list[Task]]
    #: Whether a claimant of this job may take anything from that job at all.
    reaches: Callable[[Job, Job], bool]
    #: Who may not take from whom, because it was the other way round a short while ago.
    truce: Truce
    #: Why nothing may be claimed for a task now; None when it may.
    may_claim: Callable[[Task], Reason | None]
