"""The turn of a job that is ready with the next equal tasks: the most frequent turn, in as few steps as possible.

Nothing is decided here that an ordinary attempt would decide differently: whatever is not the plain case (a limit of
the queue, too few nodes, a job that is not ready with the tasks) is left to it, with the ledger unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.actions.allocate.pending_tasks import PendingTasks
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.entry import LedgerEntry
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.search.class_view import ClassView
from stromboli.core.session.session import Session


class PlainTurns:
    """Places the next tasks of a job without a statement, as there is nothing to discard: they are binding at once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._search = session.search
        self._ledger = session.ledger
        #: Plugins with accounting of their own, or with annotations, and nominated capacity need an ordinary attempt.
        handlers = session.on_allocate or session.on_deallocate or session.bind_contexts
        self._is_possible = not (handlers or session.nominations)

    def place_next(self, job: Job, pending_tasks: PendingTasks) -> bool:
        """Place and bind the next tasks. False if an ordinary attempt is needed; then nothing has changed."""
        if not self._is_possible or job.spec.policies or job.spec.topology or job.kept_count:
            return False
        view = self._search.view(pending_tasks.first.task_class)
        if not view.possible:
            return False
        wanted = self._session.tasks_until_ready(job)
        if not self._search.takes_many(view, wanted):
            return False
        mark = pending_tasks.mark
        run = pending_tasks.take_run(wanted)
        if len(run) < wanted or not self._place(job, run, view):
            pending_tasks.return_to(mark)
            return False
        return True

    def _place(self, job: Job, run: Sequence[Task], view: ClassView) -> bool:
        if not self._is_allowed(job, run):
            return False
        rows = self._search.take_of(view, run[0], len(run))
        if len(rows) < len(run):
            view.ahead.give_back(rows, self._ledger.log.position)
            return False
        entry = self._ledger.place(run, rows, TaskStatus.BINDING)
        if not self._is_ready(job):
            self._withdraw(entry)
            return False
        if len(rows) > 1:
            view.settle()
        self._bind(entry)
        return True

    def _is_allowed(self, job: Job, run: Sequence[Task]) -> bool:
        """Report whether the tasks may be placed on any nodes, as far as their queue and their class are concerned."""
        task_class, session = run[0].task_class, self._session
        if run[0].nominated_node:
            return False
        if session.allocatable(session.queues[job.spec.queue], task_class, len(run)) is not None:
            return False
        return session.pre_predicate(task_class) is None

    def _is_ready(self, job: Job) -> bool:
        """Report whether the job is ready. An error of a plugin is left to the ordinary attempt, which reports it."""
        try:
            return self._session.job_ready(job)
        except Exception:
            return False

    def _bind(self, entry: LedgerEntry) -> None:
        session = self._session
        session.measurements.committed(session.decisions.bind(self._ledger, [entry], ()))
        session.refusals.forget(entry.tasks)

    def _withdraw(self, entry: LedgerEntry) -> None:
        freed = self._ledger.freed
        self._ledger.undo(entry)
        self._ledger.freed = freed  # the ledger is unchanged, so cached results are still valid
