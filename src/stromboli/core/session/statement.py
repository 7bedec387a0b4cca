"""A statement: a transaction over the session.

Operations take effect in the session's ledger at once; nothing leaves the session before `commit`. `discard` undoes
them in reverse by restoring what each one saved. Leaving the `with` block without `commit` or `keep` discards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from operator import itemgetter
from types import TracebackType
from typing import TYPE_CHECKING

from stromboli.core.config.plugin import Event
from stromboli.core.model.ledger.entry import LedgerEntry, LedgerInconsistency
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.session.decisions import Eviction

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


class OperationKind(Enum):
    ALLOCATE = "allocate"
    PIPELINE = "pipeline"
    EVICT = "evict"
    UNPIPELINE = "unpipeline"
    RELOCATE = "relocate"


@dataclass(slots=True)
class Operation:
    kind: OperationKind
    entry: LedgerEntry
    #: Why a task is evicted, and the preempting job, if any.
    reason: str = ""
    preemptor: str = ""
    #: Whether the pipelined task waits for an eviction.
    after_eviction: bool = False


@dataclass(frozen=True, slots=True)
class SavedOperation:
    kind: OperationKind
    tasks: Sequence[Task]
    rows: Sequence[int]
    reason: str
    preemptor: str
    after_eviction: bool


@dataclass(frozen=True, slots=True)
class SavedStatement:
    """Operations detached from a statement, to be replayed with `recover`."""

    operations: tuple[SavedOperation, ...] = ()


class Statement:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._ledger = session.ledger
        self.operations: list[Operation] = []
        self._open = True
        self._freed_before = session.ledger.freed
        self._has_handlers = bool(session.on_allocate or session.on_deallocate)

    # -- operations ---------------------------------------------------------------------------------------------

    def allocate(self, tasks: Sequence[Task], rows: Sequence[int]) -> None:
        """Place pending tasks of one job and class on nodes with idle capacity."""
        self._record(Operation(OperationKind.ALLOCATE, self._ledger.place(tasks, rows, TaskStatus.ALLOCATED)))

    def pipeline(self, task: Task, row: int, *, after_eviction: bool = False) -> None:
        """Place a task on a node where other pods are releasing."""
        entry = self._ledger.place([task], [row], TaskStatus.PIPELINED)
        self._record(Operation(OperationKind.PIPELINE, entry, after_eviction=after_eviction))

    def evict(self, task: Task, reason: str, preemptor: str = "") -> None:
        """Evict a task, in favour of the job `preemptor`, if any."""
        self.evict_all((task,), reason, preemptor)

    def evict_all(self, tasks: Sequence[Task], reason: str, preemptor: str = "") -> None:
        """Evict tasks of any jobs: equal ones that follow each other in one operation. Plugins with handlers are called
        for each of them in turn.
        """
        runs = [(task,) for task in tasks] if self._has_handlers else self._equal_runs(tasks)
        for run in runs:
            self._record(Operation(OperationKind.EVICT, self._ledger.evict(run), reason, preemptor))

    def _equal_runs(self, tasks: Sequence[Task]) -> Iterable[Sequence[Task]]:
        """Split tasks into runs of one class and status."""
        codes = self._ledger.codes
        kinds = [(task.task_class.number, codes[task.row]) for task in tasks]
        if len(set(kinds)) > 1:
            pairs = groupby(zip(kinds, tasks, strict=True), key=itemgetter(0))
            return [[task for _, task in run] for _, run in pairs]
        return (tasks,) if tasks else ()

    def relocate(self, task: Task, row: int) -> None:
        """Nominate capacity on another node for the successor of an evicted task."""
        self._record(Operation(OperationKind.RELOCATE, self._ledger.relocate(task, row)))

    def unpipeline(self, task: Task) -> None:
        """Release the capacity of a pipelined task."""
        self._record(Operation(OperationKind.UNPIPELINE, self._ledger.unpipeline(task)))

    def place(self, task: Task, row: int) -> None:
        """Allocate if the task fits now, otherwise pipeline."""
        if self._session.search.fits_now(task.task_class, row):
            self.allocate([task], [row])
        else:
            self.pipeline(task, row)

    def _record(self, operation: Operation) -> None:
        """Record the operation and notify the handlers; if one of them fails, undo it and notify all of the undo."""
        self.operations.append(operation)
        if not self._has_handlers:
            return
        try:
            self._notify(((operation.entry, _allocates(operation.kind)),))
        except Exception:
            self.rollback(len(self.operations) - 1)
            raise

    def _notify(self, changes: Iterable[tuple[LedgerEntry, bool]]) -> None:
        """Notify the handlers of operations, or of their undo; True means that tasks were placed.

        A plugin with its own accounting must not miss an event, so an error is raised only after all handlers were
        called.
        """
        session = self._session
        failure: Exception | None = None
        for entry, allocates in changes:
            handlers = session.on_allocate if allocates else session.on_deallocate
            if handlers and entry.successors:
                with self._ledger.successors_visible(entry, allocates):
                    failure = self._call(handlers, entry.successors, entry.rows) or failure
            elif handlers:
                failure = self._call(handlers, entry.tasks, entry.rows) or failure
        if failure is not None:
            raise failure

    def _call(
        self, handlers: Sequence[Callable[[Event], object]], tasks: Sequence[Task], rows: Sequence[int]
    ) -> Exception | None:
        """Call all handlers; return the first error, if any."""
        event = Event(tasks, [self._ledger.nodes.names[row] for row in rows])
        failure: Exception | None = None
        for handler in handlers:
            try:
                handler(event)
            except Exception as error:
                failure = failure or error
        return failure

    # -- closing ------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Finalize the operations: allocated tasks are to be bound, evicted ones removed."""
        session, decisions = self._session, self._session.decisions
        allocated = self._allocations
        if allocated:
            allocated = [*self._kept_for(allocated), *allocated]
            session.measurements.committed(decisions.bind(self._ledger, allocated, session.bind_contexts))
        evicted_for = None
        for operation in self.operations:
            tasks = operation.entry.tasks
            session.refusals.forget(tasks)
            if operation.kind is OperationKind.EVICT:
                decisions.evictions += [Eviction(task, operation.reason, operation.preemptor) for task in tasks]
                session.dirty_jobs.update([task.job for task in tasks])
                evicted_for = operation.reason
            elif operation.kind is OperationKind.PIPELINE and operation.after_eviction:
                decisions.nominations[tasks[0].key] = self._ledger.node_name(tasks[0])
        if evicted_for is not None:
            decisions.eviction_statements[evicted_for] += 1
        self._close()

    @property
    def _allocations(self) -> list[LedgerEntry]:
        return [operation.entry for operation in self.operations if operation.kind is OperationKind.ALLOCATE]

    def _kept_for(self, allocated: Sequence[LedgerEntry]) -> list[LedgerEntry]:
        """Return what earlier statements placed and kept for these jobs, if they are ready: it counts towards their
        minimum, so it is bound together with the rest.
        """
        session = self._session
        if not session.kept:
            return []
        ready = {key for key in {entry.tasks[0].job for entry in allocated} if session.job_ready(session.jobs[key])}
        entries = (entry for statement in session.kept for entry in statement._allocations)
        codes, placed = self._ledger.codes, TaskStatus.ALLOCATED.value
        return [e for e in entries if e.tasks[0].job in ready and codes[e.tasks[0].row] == placed]

    def keep(self) -> None:
        """Keep the operations for the rest of the session without executing them."""
        self._session.kept.append(self)
        self._open = False

    def discard(self) -> None:
        """Undo all operations in reverse."""
        for operation in reversed(self.operations):
            self._session.refusals.remember(operation.entry, operation.after_eviction)
        self.rollback(0)
        self._ledger.freed = self._freed_before  # the ledger is unchanged, so cached results are still valid
        self._close()

    def rollback(self, mark: int) -> None:
        """Undo the operations after the first `mark`."""
        undone = self.operations[mark:][::-1]
        for operation in undone:
            self._ledger.undo(operation.entry)
        del self.operations[mark:]
        # Last, so that a failing handler does not keep the ledger from being restored.
        if self._has_handlers:
            self._notify((operation.entry, not _allocates(operation.kind)) for operation in undone)

    def _close(self) -> None:
        self.operations = []
        self._open = False

    # -- save and recover ---------------------------------------------------------------------------------------

    def save(self) -> SavedStatement:
        """Return the operations as a saved statement that survives a discard."""
        return self.save_since(0)

    def save_since(self, mark: int) -> SavedStatement:
        """Return the operations after the first `mark`. Every eviction is one of its own."""
        saved = list[SavedOperation]()
        for each in self.operations[mark:]:
            tasks, rows = tuple(each.entry.tasks), tuple(each.entry.rows)
            parts = zip(tasks, rows, strict=True) if each.kind is OperationKind.EVICT else ()
            saved += [_saved(each, (task,), (row,)) for task, row in parts] or [_saved(each, tasks, rows)]
        return SavedStatement(tuple(saved))

    def recover(self, plan: SavedStatement) -> bool:
        """Replay a saved statement. If it is no longer possible, undo it completely and return False."""
        mark = len(self.operations)
        try:
            for saved in plan.operations:
                self._replay(saved)
        except LedgerInconsistency:
            self.rollback(mark)
            return False
        return True

    def _replay(self, saved: SavedOperation) -> None:
        if saved.kind is OperationKind.ALLOCATE:
            self.allocate(saved.tasks, saved.rows)
        elif saved.kind is OperationKind.PIPELINE:
            self.pipeline(saved.tasks[0], saved.rows[0], after_eviction=saved.after_eviction)
        elif saved.kind is OperationKind.EVICT:
            self.evict(saved.tasks[0], saved.reason, saved.preemptor)
        elif saved.kind is OperationKind.RELOCATE:
            self.relocate(saved.tasks[0], saved.rows[0])
        else:
            self.unpipeline(saved.tasks[0])

    def merge(self, *others: Statement) -> None:
        """Take over the operations of other statements, which are then empty."""
        for other in others:
            self.operations.extend(other.operations)
            other._close()

    # -- context manager ----------------------------------------------------------------------------------------

    def __enter__(self) -> Statement:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            self.discard()


def _saved(operation: Operation, tasks: Sequence[Task], rows: Sequence[int]) -> SavedOperation:
    return SavedOperation(operation.kind, tasks, rows, operation.reason, operation.preemptor, operation.after_eviction)


def _allocates(kind: OperationKind) -> bool:
    return kind in (OperationKind.ALLOCATE, OperationKind.PIPELINE, OperationKind.RELOCATE)
