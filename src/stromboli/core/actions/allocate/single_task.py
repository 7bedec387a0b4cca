"""The turn of a job that is ready with one more task: the most frequent turn, in as few steps as possible.

Nothing is decided here that an ordinary attempt would decide differently: whatever is not the plain case (a limit of
the queue, no node, a job that is not ready with the task) is left to it, with the ledger unchanged.
"""

from __future__ import annotations

from stromboli.core.actions.allocate.pending_tasks import PendingTasks
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.entry import LedgerEntry
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.session.session import Session


class SingleTaskTurns:
    """Places the next task of a job without a statement, as there is nothing to discard."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._search = session.search
        self._ledger = session.ledger
        #: Plugins with accounting of their own, and nominated capacity, need an ordinary attempt.
        self._is_possible = not (session.on_allocate or session.on_deallocate or session.nominations)

    def place_next(self, job: Job, pending_tasks: PendingTasks) -> bool:
        """Place and bind the next task. False if an ordinary attempt is needed; then nothing has changed."""
        task = pending_tasks.first
        if not (self._is_possible and self._is_plain(job, task)):
            return False
        rows = self._search.take_nodes(task, 1)
        if not rows:
            return False
        entry = self._ledger.place([task], rows, TaskStatus.ALLOCATED)
        if not self._session.job_ready(job):
            self._withdraw(entry)
            return False
        pending_tasks.skip_one()
        self._bind(entry)
        return True

    def _is_plain(self, job: Job, task: Task) -> bool:
        """Report whether one task of the job may be placed on any node, as far as its queue is concerned."""
        spec, task_class, session = job.spec, task.task_class, self._session
        if spec.policies or spec.topology or task.nominated_node:
            return False
        if session.tasks_until_ready(job) > 1 or self._search.is_known_to_fail(task_class):
            return False
        if session.allocatable(session.queues[spec.queue], task_class, 1) is not None:
            return False
        return session.pre_predicate(task_class) is None

    def _bind(self, entry: LedgerEntry) -> None:
        session = self._session
        session.measurements.committed(session.decisions.bind(self._ledger, [entry], session.bind_contexts))
        session.refusals.forget(entry.tasks)

    def _withdraw(self, entry: LedgerEntry) -> None:
        freed = self._ledger.freed
        self._ledger.undo(entry)
        self._ledger.freed = freed  # the ledger is unchanged, so cached results are still valid
