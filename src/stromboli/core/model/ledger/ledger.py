"""The ledger: the only state that changes during a cycle, and its only writer.

Idle, used, releasing and pipelined amounts of nodes; status and node of tasks; counters of jobs, sub-jobs and roles;
sums of queues with their ancestors; tallies of pods per term; allocated volumes and devices. Each operation saves
exactly what it overwrites in a `LedgerEntry`, and undo restores it: a previous state is never recomputed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.devices.claim_allocator import ClaimAllocator, DeviceAllocation
from stromboli.core.model.jobs.job import PENDING_BEST_EFFORT, Counts, Job
from stromboli.core.model.ledger.change_log import ChangeLog
from stromboli.core.model.nodes.amounts import Block, Effect, Rows
from stromboli.core.model.nodes.table import Index
from stromboli.core.model.queues.queue import QueueUsage
from stromboli.core.model.resources.resources import Amounts, Request, add_request
from stromboli.core.model.snapshot import Snapshot
from stromboli.core.model.tasks.task import TRANSITIONS, Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.volumes.allocator import VolumeAllocation, VolumeAllocator
from stromboli.core.model.volumes.volumes import VolumeNeeds

_STATUSES = tuple(TaskStatus)
#: Up to this many rows are handled one by one.
_FEW = 16
_ALLOCATED, _BINDING = TaskStatus.ALLOCATED.value, TaskStatus.BINDING.value


class LedgerInconsistency(AssertionError):
    """An operation would make the ledger inconsistent. An internal error, never the user's."""


@dataclass(slots=True)
class LedgerEntry:
    """One operation, with what it overwrote."""

    job: Job
    tasks: Sequence[Task]
    #: Node row of each task.
    rows: Sequence[int]
    before: TaskStatus
    after: TaskStatus
    saved_counts: list[tuple[Counts, Counts]]
    saved_sums: list[tuple[Amounts, Amounts]]
    columns: Index | int
    saved_columns: NDArray[np.int64]
    saved_tallies: list[tuple[NDArray[np.int32], int, int]] = field(default_factory=list)
    #: For a relocation: copies of the tasks that stand for their successors. The tasks themselves do not change.
    successors: Sequence[Task] = ()
    #: The volumes of a pipelined task that was unpipelined.
    saved_volumes: tuple[VolumeAllocation, ...] = ()
    #: The devices of its claims.
    saved_claims: DeviceAllocation | None = None


class Ledger:
    """All mutable state of one cycle."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.nodes = snapshot.nodes
        self.layout = snapshot.layout
        self.books = snapshot.books
        self.terms = snapshot.terms
        self.jobs = snapshot.jobs
        self.queues = snapshot.queue_usage
        self.budgets = snapshot.budgets
        self.volumes = VolumeAllocator(snapshot.nodes, snapshot.volumes)
        self.claims = ClaimAllocator(snapshot.nodes, snapshot.claims)
        self.status = snapshot.status
        self.node_of = snapshot.node_of
        #: Fast access to single entries of the same memory.
        self.codes: Any = memoryview(snapshot.status)  # type: ignore[arg-type]
        self._node_of: Any = memoryview(snapshot.node_of)  # type: ignore[arg-type]
        self._tallies = snapshot.tallies
        self._own_tallies: set[int] = set()
        self._own_jobs: set[str] = set(snapshot.waiting)
        self._effects: dict[tuple[int, int], Effect] = {}
        self._eviction_effects: dict[int, Effect] = {}
        self._dimensions: dict[int, Index] = {}
        #: All nodes; and all nodes for queries in which only those with enough capacity matter.
        self.all_rows = Rows(self.books, self.layout, self.nodes)
        self.candidate_rows = Rows(self.books, self.layout, self.nodes, certain=True)
        #: All nodes, for queries about waiting for them.
        self.future_rows = Rows(self.books, self.layout, self.nodes, later=True)
        #: The rows that an allocation changes.
        self._front = self.books[: self.layout.releasing]
        self.log = ChangeLog()
        #: Whether the amounts that scorers count equal the used amounts on every node: then one result serves both.
        used, scored = self.layout.used, self.layout.scored
        self.is_scored_as_used = bool((self.books[scored : scored + 2] == self.books[used : used + 2]).all())
        #: Whether capacity was nominated for any task in this cycle.
        self.holds_nominated = False
        #: Incremented whenever capacity may have grown: tasks that did not fit may fit now.
        self.freed = 0

    # -- reading ------------------------------------------------------------------------------------------------

    @cached_property
    def held(self) -> Block:
        """Nominated amount of each resource on each node, for tasks nominated in earlier cycles."""
        return np.zeros((self.layout.resources, len(self.nodes)), dtype=np.int64)

    def status_of(self, task: Task) -> TaskStatus:
        return _STATUSES[self.codes[task.row]]

    def is_pending(self, task: Task) -> bool:
        return bool(self.codes[task.row] == 0)

    def row_of(self, task: Task) -> int:
        """Return the node row of a task, -1 if it has none."""
        return int(self._node_of[task.row])

    def node_name(self, task: Task) -> str:
        row = self.row_of(task)
        return self.nodes.names[row] if row >= 0 else ""

    def rows(self, index: Index, *, certain: bool = False, later: bool = False) -> Rows:
        """Return the amounts of some nodes."""
        block = self._front.take(index, axis=1)
        return Rows(self.books, self.layout, self.nodes, index, block, self.all_rows, certain=certain, later=later)

    def hypothetical(self, index: Index, copies: Index, task_class: TaskClass, *, certain: bool = False) -> Rows:
        """Return nodes `index` as they would be after `copies` more tasks of the class, entry by entry."""
        block = self._front.take(index, axis=1)
        effect = self.effect(task_class, TaskStatus.ALLOCATED)
        block += effect[: self.layout.releasing, None] * copies
        return Rows(self.books, self.layout, self.nodes, index, block, self.all_rows, certain=certain)

    def effect(self, task_class: TaskClass, status: TaskStatus) -> Effect:
        key = (task_class.number, status.value)
        known = self._effects.get(key)
        if known is None:
            known = self._effects[key] = self.layout.effect(task_class, status)
        return known

    def _effect_of_eviction(self, task_class: TaskClass) -> Effect:
        known = self._eviction_effects.get(task_class.number)
        if known is None:
            known = self._eviction_effects[task_class.number] = self.layout.effect_of_eviction(task_class)
        return known

    @property
    def has_releasing(self) -> bool:
        """Whether any node is releasing resources: otherwise waiting for one is useless."""
        layout = self.layout
        return bool(self.books[layout.releasing : layout.allocatable].any())

    def tally(self, number: int) -> NDArray[np.int32] | None:
        """Return the pods counted per node for a term; None if there are none."""
        return self._tallies.get(number)

    # -- operations ---------------------------------------------------------------------------------------------

    def place(self, tasks: Sequence[Task], rows: Sequence[int], status: TaskStatus) -> LedgerEntry:
        """Place pending tasks of one job and class: allocated, or pipelined until releasing pods are gone."""
        task_class, codes = tasks[0].task_class, self.codes
        for task in tasks:
            if codes[task.row]:
                raise LedgerInconsistency(f"{task.key} is {self.status_of(task).word} and cannot be placed again")
        columns, saved_columns = self._add_to_nodes(rows, self.effect(task_class, status))
        if self._is_overcommitted(task_class, columns, status):
            self.books[: self.layout.changing, columns] = saved_columns
            raise LedgerInconsistency(f"{tasks[0].key} and {len(tasks) - 1} more do not fit on their nodes")
        if task_class.volumes is not None and not self._take_volumes(tasks, rows, status):
            self.books[: self.layout.changing, columns] = saved_columns
            raise LedgerInconsistency(f"{tasks[0].key} and {len(tasks) - 1} more have no volumes on their nodes")
        if task_class.claims is not None and not self._take_devices(tasks, rows, status):
            self.books[: self.layout.changing, columns] = saved_columns
            self._return_volumes(tasks, rows)
            raise LedgerInconsistency(f"{tasks[0].key} and {len(tasks) - 1} more have no devices on their nodes")
        if status is TaskStatus.PIPELINED:
            self.holds_nominated, self.is_scored_as_used = True, False
        elif task_class.is_scored_higher:
            self.is_scored_as_used = False
        job = self.own(tasks[0].job)
        entry = self._count(job, tasks, rows, TaskStatus.PENDING, status, columns, saved_columns)
        self._add_to_sums(entry, task_class, len(tasks))
        if task_class.feeds:
            self._feed(entry, task_class, rows, 1)
        return entry

    def evict(self, task: Task) -> LedgerEntry:
        """Start releasing a placed task."""
        job = self.own(task.job)
        task_class, before, row = task.task_class, self.status_of(task), self.row_of(task)
        if TaskStatus.RELEASING not in TRANSITIONS.get(before, ()) or row < 0:
            where = self.node_name(task) or "no known node"
            raise LedgerInconsistency(f"{task.key} is {before.word} on {where} and cannot be evicted")
        columns, saved_columns = self._add_to_nodes([row], self._effect_of_eviction(task_class))
        entry = self._count(job, [task], [row], before, TaskStatus.RELEASING, columns, saved_columns)
        self._add_to_sums(entry, task_class, -1)
        if task_class.feeds:
            self._feed(entry, task_class, [row], -1)
        if task_class.volumes is not None:
            self.volumes.count(task_class.volumes, row, -1)
        if task.resource_claims:
            self.claims.leave(task)
        if self.budgets.of_task:
            self.budgets.spend(task.uid)
        self.freed += 1
        self.is_scored_as_used = False
        return entry

    def unpipeline(self, task: Task) -> LedgerEntry:
        """Release the capacity of a pipelined task; the task is pending again."""
        if self.status_of(task) is not TaskStatus.PIPELINED:
            raise LedgerInconsistency(f"{task.key} is {self.status_of(task).word} and is not pipelined")
        job = self.own(task.job)
        task_class, row = task.task_class, self.row_of(task)
        columns, saved_columns = self._add_to_nodes([row], -self.effect(task_class, TaskStatus.PIPELINED))
        entry = self._count(job, [task], [row], TaskStatus.PIPELINED, TaskStatus.PENDING, columns, saved_columns)
        if task_class.volumes is not None:
            entry.saved_volumes = self.volumes.kept(task)
            self.volumes.give_back(task, row)
        if task_class.claims is not None:
            entry.saved_claims = self.claims.kept(task)
            self.claims.give_back(task, row)
        self._add_to_sums(entry, task_class, -1)
        if task_class.feeds:
            self._feed(entry, task_class, [row], -1)
        self.freed += 1
        return entry

    def relocate(self, task: Task, row: int) -> LedgerEntry:
        """Nominate capacity on another node for the successor of a releasing task. Its job and its queue hold as much
        as before the eviction.
        """
        if self.status_of(task) is not TaskStatus.RELEASING:
            raise LedgerInconsistency(f"{task.key} is {self.status_of(task).word} and cannot be relocated")
        job, task_class, leaving = self.own(task.job), task.task_class, TaskStatus.RELEASING
        columns, saved_columns = self._add_to_nodes([row], self.effect(task_class, TaskStatus.PIPELINED))
        if self._is_overcommitted(task_class, columns, TaskStatus.PIPELINED):
            self.books[: self.layout.changing, columns] = saved_columns
            raise LedgerInconsistency(f"{task.key} does not fit on the target node")
        self.holds_nominated, self.is_scored_as_used = True, False
        entry = LedgerEntry(
            job, [task], [row], leaving, leaving, [], [], columns, saved_columns, successors=[_successor(task)]
        )
        if task_class.volumes is not None:
            self.volumes.count(task_class.volumes, row, 1)
        if task_class.claims is not None:
            self.claims.take(entry.successors[0], row, later=True)
        self._add_to_sums(entry, task_class, 1)
        if task_class.feeds:
            self._feed(entry, task_class, [row], 1)
        return entry

    @contextmanager
    def successors_visible(self, entry: LedgerEntry, allocates: bool) -> Iterator[None]:
        """Show successors to plugins as pipelined, or as pending once their capacity is released."""
        status = TaskStatus.PIPELINED if allocates else TaskStatus.PENDING
        rows = [task.row for task in entry.successors]
        saved = [self.codes[row] for row in rows]
        for row in rows:
            self.codes[row] = status.value
        try:
            yield
        finally:
            for row, code in zip(rows, saved, strict=True):
                self.codes[row] = code

    def hold(self, task: Task, row: int) -> None:
        """Nominate capacity on a node for a pending task: it counts for the node, but not for job and queue."""
        self.holds_nominated, self.is_scored_as_used = True, False
        self._keep_free(task, row, 1)

    def let_go(self, task: Task, row: int) -> None:
        """Release nominated capacity."""
        self._keep_free(task, row, -1)
        self.freed += 1

    def _keep_free(self, task: Task, row: int, sign: int) -> None:
        self._add_to_nodes([row], sign * self.effect(task.task_class, TaskStatus.PIPELINED))
        if task.task_class.volumes is not None:
            self._keep_volumes(task, row, task.task_class.volumes, sign)
        if task.task_class.claims is not None and sign < 0:
            self.claims.give_back(task, row)
        elif task.task_class.claims is not None:
            self.claims.take(task, row, later=True)
        for dimension, amount in task.task_class.request:
            self.held[dimension, row] += sign * amount
        for number in task.task_class.feeds:
            self.own_tally(number)[row] += sign

    def reserve_capacity(self, room: Block, sign: int = 1) -> None:
        """Reserve capacity on many nodes at once, by resource and node, for jobs that start later; or, with -1, release
        it.
        """
        start = self.layout.pipelined
        self.books[start : start + len(room)] += sign * room
        self.held += sign * room
        self.holds_nominated = True
        self.log.add(np.flatnonzero(room.any(axis=0)).tolist())
        self.freed += sign < 0

    def start_over(self) -> None:
        """Invalidate everything that was derived from the amounts of any node."""
        self.log.add(range(len(self.nodes)))
        self.freed += 1

    def bind(self, tasks: Sequence[Task]) -> None:
        """Mark allocated tasks of one job and class as binding. Final: committed placements are not undone here."""
        job = self.own(tasks[0].job)
        for counts in self._counts_of(job, tasks[0]):
            counts[_ALLOCATED] -= len(tasks)
            counts[_BINDING] += len(tasks)
        codes = self.codes
        for task in tasks:
            codes[task.row] = _BINDING

    def enqueue(self, job: Job, room: Request) -> None:
        """Admit a job: add its minimum to the inqueue amounts of its queue and every ancestor."""
        job.phase = "Inqueue"
        books = self.queues.get(job.queue)
        for queue in books.chain if books else ():
            add_request(queue.inqueue, room)

    def undo(self, entry: LedgerEntry) -> None:
        """Restore everything the operation overwrote."""
        layout, columns = self.layout, entry.columns
        self.books[: layout.changing, columns] = entry.saved_columns
        self.log.add(entry.rows)
        for counts, saved in entry.saved_counts:
            counts[:] = saved
        for sums, saved in entry.saved_sums:
            sums[:] = saved
        for column, row, count in reversed(entry.saved_tallies):
            column[row] = count
        self.freed += 1
        if entry.tasks[0].task_class.volumes is not None:
            self._undo_volumes(entry)
        if entry.tasks[0].resource_claims:
            self._undo_claims(entry)
        if entry.successors:
            return
        if entry.after is TaskStatus.RELEASING:
            self.budgets.spend(entry.tasks[0].uid, -1)
        had_node = entry.before is not TaskStatus.PENDING
        for task, row in zip(entry.tasks, entry.rows, strict=True):
            self.codes[task.row] = entry.before.value
            self._node_of[task.row] = row if had_node else -1

    def own(self, key: str) -> Job:
        """Return the job with counters owned by this cycle. Waiting jobs have them from the start; others are copied
        here.
        """
        if key not in self._own_jobs:
            self._own_jobs.add(key)
            self.jobs[key] = self.jobs[key].copy()
        return self.jobs[key]

    # -- the pieces of an operation -----------------------------------------------------------------------------

    def _add_to_nodes(self, rows: Sequence[int], effect: Effect) -> tuple[Index | int, NDArray[np.int64]]:
        changing = self.books[: self.layout.changing]
        self.log.add(rows)
        if len(rows) == 1:
            row = rows[0]
            saved = changing[:, row].copy()
            changing[:, row] = saved + effect
            return row, saved
        added = effect[:, None]
        if len(set(rows)) == len(rows):
            columns = np.array(rows, dtype=np.int64)
        else:
            columns, copies = _distinct(rows)
            added = added * copies
        saved = changing.take(columns, axis=1)
        changing[:, columns] = saved + added
        return columns, saved

    def _is_overcommitted(self, task_class: TaskClass, columns: Index | int, status: TaskStatus) -> bool:
        """Report whether a row that was just written is negative, now or in the future, in a requested dimension."""
        books = self.books
        if isinstance(columns, int):
            return self._are_few_overcommitted(task_class, (columns,), status)
        if len(columns) <= _FEW:
            return self._are_few_overcommitted(task_class, columns.tolist(), status)
        asked = self._asked_by(task_class)
        left = books[asked, columns]
        if status is TaskStatus.PIPELINED:
            layout = self.layout
            left = left + (books[layout.releasing + asked, columns] - books[layout.pipelined + asked, columns])
        return bool(left.min() < 0)

    def _are_few_overcommitted(self, task_class: TaskClass, rows: Sequence[int], status: TaskStatus) -> bool:
        """Check a few rows: called for every task or small gang, so it uses plain numbers."""
        item, layout, later = self.books.item, self.layout, status is TaskStatus.PIPELINED
        for row in rows:
            for dimension, _ in task_class.request:
                left = item(dimension, row)
                if later:
                    left += item(layout.releasing + dimension, row) - item(layout.pipelined + dimension, row)
                if left < 0:
                    return True
        return False

    def _asked_by(self, task_class: TaskClass) -> Index:
        """Return the dimensions of a class's request as a column."""
        known = self._dimensions.get(task_class.number)
        if known is None:
            known = np.array([[dimension] for dimension, _ in task_class.request], dtype=np.int64)
            self._dimensions[task_class.number] = known
        return known

    def _count(
        self,
        job: Job,
        tasks: Sequence[Task],
        rows: Sequence[int],
        before: TaskStatus,
        after: TaskStatus,
        columns: Index | int,
        saved_columns: NDArray[np.int64],
    ) -> LedgerEntry:
        """Move tasks from one status to another in every counter."""
        number, first = len(tasks), tasks[0]
        saved_counts = []
        leaving, code, best_effort = before.value, after.value, first.task_class.best_effort
        for counts in self._counts_of(job, first):
            saved_counts.append((counts, counts[:]))
            counts[leaving] -= number
            counts[code] += number
            if best_effort:
                counts[PENDING_BEST_EFFORT] += number * ((code == 0) - (leaving == 0))
        status, node_of, keeps_node = self.codes, self._node_of, after is not TaskStatus.PENDING
        for task, row in zip(tasks, rows, strict=True):
            status[task.row] = code
            node_of[task.row] = row if keeps_node else -1
        return LedgerEntry(job, tasks, rows, before, after, saved_counts, [], columns, saved_columns)

    @staticmethod
    def _counts_of(job: Job, task: Task) -> list[Counts]:
        every = [job.counts]
        if job.role_counts:
            every.append(job.role_counts[task.role])
        if task.sub_job:
            every.append(job.sub_jobs[task.sub_job].counts)
        return every

    def _add_to_sums(self, entry: LedgerEntry, task_class: TaskClass, copies: int) -> None:
        """Add the requests of tasks to their job and to their queue with its ancestors. Pipelined tasks count as
        allocated.
        """
        books = self.queues.get(entry.job.spec.queue)
        sums = [entry.job.allocated]
        if books is not None:
            sums += [queue.allocated for queue in books.chain]
        saved, request = entry.saved_sums, task_class.request
        for amounts in sums:
            saved.append((amounts, amounts[:]))
            for dimension, amount in request:
                amounts[dimension] += amount * copies

    def _feed(self, entry: LedgerEntry, task_class: TaskClass, rows: Sequence[int], step: int) -> None:
        for number in task_class.feeds:
            column = self.own_tally(number)
            for row in rows:
                count = int(column[row])
                entry.saved_tallies.append((column, row, count))
                column[row] = count + step

    def _take_volumes(self, tasks: Sequence[Task], rows: Sequence[int], status: TaskStatus) -> bool:
        """Allocate the volumes of every task, or of none."""
        for number, (task, row) in enumerate(zip(tasks, rows, strict=True)):
            if not self.volumes.take(task, row, later=status is TaskStatus.PIPELINED):
                self._return_volumes(tasks[:number], rows[:number])
                return False
        return True

    def _return_volumes(self, tasks: Sequence[Task], rows: Sequence[int]) -> None:
        for task, row in zip(reversed(tasks), reversed(rows), strict=True):
            if task.task_class.volumes is not None:
                self.volumes.give_back(task, row)

    def _take_devices(self, tasks: Sequence[Task], rows: Sequence[int], status: TaskStatus) -> bool:
        """Allocate the devices of every task, or of none."""
        for number, (task, row) in enumerate(zip(tasks, rows, strict=True)):
            if not self.claims.take(task, row, later=status is TaskStatus.PIPELINED):
                for before in reversed(range(number)):
                    self.claims.give_back(tasks[before], rows[before])
                return False
        return True

    def _undo_claims(self, entry: LedgerEntry) -> None:
        if entry.after is TaskStatus.RELEASING and not entry.successors:
            self.claims.leave(entry.tasks[0], -1)
            return
        tasks = entry.successors or entry.tasks
        for task, row in zip(reversed(tasks), reversed(entry.rows), strict=True):
            if entry.successors or entry.before is TaskStatus.PENDING:
                self.claims.give_back(task, row)
            else:
                self.claims.restore(task, row, entry.saved_claims)

    def _keep_volumes(self, task: Task, row: int, needs: VolumeNeeds, sign: int) -> None:
        """Keep what a nominated task will need on its node, as far as it is available."""
        if sign < 0:
            self.volumes.give_back(task, row)
        elif not self.volumes.take(task, row, later=True):
            self.volumes.count(needs, row, 1)

    def _undo_volumes(self, entry: LedgerEntry) -> None:
        for task, row in zip(reversed(entry.tasks), reversed(entry.rows), strict=True):
            if entry.successors or entry.before is TaskStatus.PENDING:
                self.volumes.give_back(task, row)
            else:
                self.volumes.restore(task, row, entry.saved_volumes)

    def own_tally(self, number: int) -> NDArray[np.int32]:
        """Return the pods counted per node for a term, writable."""
        if number not in self._own_tallies:
            known = self._tallies.get(number)
            column = np.zeros(len(self.nodes), dtype=np.int32) if known is None else known.copy()
            self._tallies[number] = column
            self._own_tallies.add(number)
        return self._tallies[number]

    # -- proofs -------------------------------------------------------------------------------------------------

    def fingerprint(self) -> bytes:
        """Return every mutable byte of the ledger, to prove that an undo restored it."""
        parts: list[bytes] = [self.books.tobytes(), self.status.tobytes(), self.node_of.tobytes()]
        for key in sorted(self.jobs):
            job = self.jobs[key]
            sub_jobs = {name: sub_job.counts for name, sub_job in sorted(job.sub_jobs.items())}
            parts.append(repr((key, job.phase, job.counts, job.role_counts, job.allocated, sub_jobs)).encode())
        for name in sorted(self.queues):
            books: QueueUsage = self.queues[name]
            parts.append(repr((name, books.allocated, books.request, books.inqueue, books.elastic)).encode())
        parts.append(repr(self.budgets.left).encode())
        parts.append(self.volumes.fingerprint())
        parts.append(self.claims.fingerprint())
        for number, column in sorted(self._tallies.items()):
            if column.any():
                parts.append(repr(number).encode() + column.tobytes())
        return b"|".join(parts)


def _successor(task: Task) -> Task:
    """Copy a task as its own successor, with a uid that keeps accounting by uid apart."""
    return replace(task, uid=f"{task.uid}/successor")


def _distinct(rows: Sequence[int]) -> tuple[Index, Index]:
    """Return each row once, with its number of occurrences."""
    times = Counter(rows)
    return np.fromiter(times.keys(), np.int64, len(times)), np.fromiter(times.values(), np.int64, len(times))
