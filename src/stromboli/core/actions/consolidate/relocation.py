"""Relocation: which tasks may be moved for a job, and their new places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from stromboli.core.actions.consolidate.pending_preemptions import PendingPreemptions
from stromboli.core.config.plugin import EvictionContext
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.preemption.candidates import CandidatePool
from stromboli.core.preemption.history.thrash_guard import ThrashGuard, ThrashGuardArguments
from stromboli.core.preemption.rules import ON_NODE, PreemptionRules
from stromboli.core.session.session import Session


class MovablePool(CandidatePool):
    """The tasks of some jobs, in any queue."""

    def queues_for(self, preemptor: Job) -> list[str]:
        return list(self._by_queue)


def rules_for(session: Session, action: str, pending: PendingPreemptions) -> PreemptionRules:
    def allowed(preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        unguarded = session.unguarded(EvictionContext(action, session.jobs[preemptor.job]), candidates)
        return [task for task in unguarded if pending.taking(task) is None]

    return PreemptionRules(
        action=action,
        question="evictable",
        own_queue=True,
        statuses=ON_NODE,
        allowed=allowed,
        thrash_guard=ThrashGuard(session, ThrashGuardArguments()),
        may_preempt=lambda _: None,
    )


def jobs_to_move(session: Session, preemptor: Job, *, any_priority: bool) -> list[Job]:
    """Jobs without a topology, unless of any priority not more important than the preemptor, of its own queue or a
    reclaimable one.
    """
    jobs = (job for job in session.jobs.values() if any_priority or job.priority <= preemptor.priority)
    return [job for job in jobs if _may_be_moved(session, job, preemptor)]


def _may_be_moved(session: Session, job: Job, preemptor: Job) -> bool:
    queue = session.queues.get(job.queue)
    if queue is None or job.key == preemptor.key or job.spec.is_being_deleted:
        return False
    if job.spec.topology or any(policy.topology for policy in job.spec.policies):
        return False
    return queue.reclaimable or job.queue == preemptor.queue


class RelocationTargets:
    """Finds places that leave most for the preemptors: unsuitable nodes first, then those that are filled best."""

    def __init__(self, session: Session, preemptors: Iterable[TaskClass]) -> None:
        self._session = session
        self._search = session.search
        self._ledger = session.ledger
        #: The extra cost of a node that a preemptor could use: more than any node that is left empty.
        self._worth = np.zeros(len(session.nodes))
        for task_class in preemptors:
            large_enough = self._search.view(task_class).static.admitted.copy()
            for dimension, amount in task_class.request:
                large_enough &= self._ledger.all_rows.allocatable(dimension) >= amount
            self._worth[large_enough] = len(task_class.request) + len(session.axis.names)

    def row_for(self, task: Task, *, elsewhere: bool) -> int:
        """The row of the new place, with `elsewhere` on another node than the current one; -1 when there is none.

        A task with a fraction of a device may get one of another device on its node. A task whose queue may not take
        it again has no place: it would be evicted for good.
        """
        if not self._returns_to_queue(task):
            return -1
        fits = self._fitting(task)
        if elsewhere and task.task_class.devices is None:
            fits[self._ledger.row_of(task)] = False
        if not fits.any():
            return -1
        return int(np.where(fits, self._left_over(task), np.inf).argmin())

    def _returns_to_queue(self, task: Task) -> bool:
        session = self._session
        queue = session.queue_of(session.jobs[task.job])
        return session.overused(queue) is None and session.allocatable(queue, task.task_class, 1) is None

    def _fitting(self, task: Task) -> Mask:
        """Nodes that pass every filter and have enough capacity once releasing tasks are gone."""
        view, ledger = self._search.view(task.task_class), self._ledger
        fits = view.fits_later(ledger.future_rows)
        for rule in (*view.row_filters, *view.cluster_filters):
            if fits.any():
                fits &= rule.filter(task.task_class, ledger.future_rows, ledger)
        return fits

    def _left_over(self, task: Task) -> Vector:
        """The requested resources that would be left, as fractions of each node, plus its extra cost."""
        rows = self._ledger.future_rows
        left = self._worth.copy()
        for dimension, amount in task.task_class.request:
            left += (rows.future_idle(dimension) - amount) / rows.capacity(dimension)
        return left
