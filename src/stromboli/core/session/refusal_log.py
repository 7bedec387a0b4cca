"""Refusals of a cycle by job and by queue, and errors that are isolated to a job or a queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType

from stromboli.core.config.plugin_errors import describe_error
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.entry import LedgerEntry, LedgerInconsistency
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.session.program import Program
from stromboli.core.session.refusals import JobRefusal, LastTransaction
from stromboli.core.session.time_budget import TimeBudget, TimeBudgetExceeded


class RefusalLog(dict[str, JobRefusal]):
    """Refusals by job key."""

    def __init__(self, names: Sequence[str], warnings: list[str], program: Program, budget: TimeBudget) -> None:
        super().__init__()
        self._budget = budget
        self._names = names
        self._warnings = warnings
        self._program = program
        #: Why a queue is not served, by queue.
        self.queues: dict[str, Reason] = {}
        #: Short forms for jobs without discarded placements, by the identity of their NodeRefusals and by their sizes.
        self.node_summaries: dict[tuple[int, int, int], str] = {}
        #: Discarded placements by task uid.
        self.last_transactions: dict[str, LastTransaction] = {}

    def of(self, job: Job) -> JobRefusal:
        """Return the refusal of a job, created on first use."""
        known = self.get(job.key)
        if known is None:
            known = self[job.key] = JobRefusal()
        return known

    def add(self, job: Job, reason: Reason) -> None:
        """Record why a job does not start in this cycle."""
        self.of(job).add(reason)

    def report_error(self, job: Job, error: Exception) -> None:
        """Record an error on the job: it waits with the error as its reason, and the others continue. Jobs without time
        left get their reason at the end of the cycle.
        """
        if isinstance(error, TimeBudgetExceeded):
            return
        description = self._described(error)
        text = f"scheduling failed with an error: {description}"
        self.add(job, Reason(Code.PLUGIN_FAILED, text, short=f"error: {description}"))
        self._warnings.append(f"PodGroup {job.key}: {text}")

    def report_queue_error(self, queue: Queue, error: Exception) -> None:
        """Record an error on the queue: it is not served in this cycle, other queues are."""
        text = f"queue {queue.name} cannot be evaluated: {self._described(error)}"
        self.queues[queue.name] = Reason(Code.PLUGIN_FAILED, text)
        self._warnings.append(text)

    def _described(self, error: Exception) -> str:
        """Return the error with its origin, and record it where tracebacks are requested."""
        if self._program.errors is not None:
            self._program.errors.append(error)
        return describe_error(error)

    def isolate_errors(self, job: Job) -> AbstractContextManager[None]:
        """Isolate an error to this job: report it on the job and continue with the others. An inconsistent ledger still
        aborts the cycle. The time is charged to the job.
        """
        return _IsolatedErrors(self, job, self._budget)

    @contextmanager
    def discarded(self, job: Job) -> Iterator[None]:
        """Discard what is recorded for the job inside the block."""
        refusal, transactions = self.pop(job.key, None), dict(self.last_transactions)
        try:
            yield
        finally:
            self.pop(job.key, None)
            if refusal is not None:
                self[job.key] = refusal
            self.last_transactions = transactions

    def remember(self, entry: LedgerEntry, after_eviction: bool) -> None:
        """Keep the placements of an operation that is about to be discarded."""
        if entry.after in (TaskStatus.ALLOCATED, TaskStatus.PIPELINED):
            for task, row in zip(entry.tasks, entry.rows, strict=True):
                self.last_transactions[task.uid] = LastTransaction(self._names[row], entry.after, after_eviction)

    def forget(self, tasks: Sequence[Task]) -> None:
        """Drop the discarded placements of tasks that are placed now."""
        if self.last_transactions:
            for task in tasks:
                self.last_transactions.pop(task.uid, None)


class _IsolatedErrors(AbstractContextManager[None]):
    """A class rather than a generator: it is entered for every job."""

    __slots__ = ("_budget", "_job", "_log")

    def __init__(self, log: RefusalLog, job: Job, budget: TimeBudget) -> None:
        self._log = log
        self._job = job
        self._budget = budget

    def __enter__(self) -> None:
        if not self._budget.is_turn_of(self._job):
            self._budget.begin(self._job)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        try:
            if not isinstance(error, Exception) or isinstance(error, LedgerInconsistency):
                return False
            self._log.report_error(self._job, error)
            return True
        finally:
            self._budget.end()
