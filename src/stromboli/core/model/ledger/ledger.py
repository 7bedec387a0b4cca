"""The ledger: the only state that changes during a cycle, and its only writer.

Amounts of nodes (`NodeLedger`); counters of jobs, sub-jobs and roles, and sums of queues (`JobLedger`); volumes and
devices (`Allocations`); status and node of tasks, and tallies of pods per term. Each operation saves exactly what it
overwrites in a `LedgerEntry`, and undo restores it: a previous state is never recomputed.
"""

from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.devices.claim_allocator import ClaimAllocator
from stromboli.core.model.ledger.allocations import Allocations
from stromboli.core.model.ledger.deferred_counts import DeferredCounts, FeedSum
from stromboli.core.model.ledger.entry import LedgerEntry, LedgerInconsistency
from stromboli.core.model.ledger.job_ledger import JobLedger
from stromboli.core.model.ledger.node_ledger import NodeLedger
from stromboli.core.model.nodes.amounts import Block
from stromboli.core.model.nodes.table import Index
from stromboli.core.model.snapshot import Snapshot
from stromboli.core.model.tasks.task import TRANSITIONS, Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.volumes.allocator import VolumeAllocator

_STATUSES = tuple(TaskStatus)
_BINDING, _RELEASING = TaskStatus.BINDING.value, TaskStatus.RELEASING.value
_EVICTABLE = tuple(status for status, following in TRANSITIONS.items() if TaskStatus.RELEASING in following)
#: Pods that feed more tallies than this are counted when a tally is read.
_MANY_FEEDS = 16


class Ledger:
    """All mutable state of one cycle."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._amounts = amounts = NodeLedger(snapshot.nodes, snapshot.layout, snapshot.amounts)
        self._counters = counters = JobLedger(snapshot.jobs, snapshot.queue_usage, snapshot.waiting)
        self.volumes = VolumeAllocator(snapshot.nodes, snapshot.volumes)
        self.claims = ClaimAllocator(snapshot.nodes, snapshot.claims)
        self._allocations = Allocations(self.volumes, self.claims)
        # attributes that rules read, so that reading costs one lookup
        self.nodes, self.layout, self.log = amounts.nodes, amounts.layout, amounts.log
        #: Every amount of every node, by fact and node row.
        self.amounts = amounts.amounts
        #: All nodes, as rules see them.
        self.all_rows = amounts.all_rows
        #: All nodes, for queries in which only those with enough capacity matter.
        self.candidate_rows = amounts.candidate_rows
        #: All nodes, for queries about waiting for them.
        self.future_rows = amounts.future_rows
        #: `rows(index, certain=False, later=False)`: the amounts of some nodes.
        self.rows = amounts.rows
        #: `hypothetical(index, copies, task_class, certain=False)`: some nodes after more tasks of the class.
        self.hypothetical = amounts.hypothetical
        #: `effect(task_class, status)`: what one task of the class in this status adds to its node.
        self.effect = amounts.effect
        #: Jobs by key, with the counters of this cycle.
        self.jobs = counters.jobs
        #: Sums of queues by name.
        self.queues = counters.queues
        #: `enqueue(job, minimum)`: admit a job.
        self.enqueue = counters.enqueue
        self.terms = snapshot.terms
        self.budgets = snapshot.budgets
        self.status = snapshot.status
        self.node_of = snapshot.node_of
        #: Fast access to single entries of the same memory: the status of each task.
        self.codes: Any = memoryview(snapshot.status)  # type: ignore[arg-type]
        #: The node row of each task, -1 for none.
        self.node_rows: Any = memoryview(snapshot.node_of)  # type: ignore[arg-type]
        self._tallies = snapshot.tallies
        self._own_tallies: set[int] = set()
        #: Pods that feed very many tallies, which read them when they are used.
        self._deferred = DeferredCounts(self.terms)
        #: Changes of tallies in their order: the class, node rows, and the step. Replaced when tallies change in
        #: another way, so that a reader that keeps its position finds what to add.
        self.fed: list[tuple[TaskClass, Sequence[int], int]] = []
        #: Whether the amounts that scorers count equal the used amounts on every node: then one result serves both.
        self.is_scored_as_used = amounts.is_scored_as_used
        #: Whether capacity was nominated for any task in this cycle.
        self.holds_nominated = False
        #: Incremented whenever capacity may have grown: tasks that did not fit may fit now.
        self.freed = 0

    # -- reading ------------------------------------------------------------------------------------------------

    @property
    def nominated(self) -> Block:
        """Nominated and reserved amount of each resource on each node."""
        return self._amounts.nominated

    @property
    def changed_jobs(self) -> Set[str]:
        """The jobs whose counters may differ from those of the snapshot."""
        return self._counters.changed

    @property
    def has_releasing(self) -> bool:
        """Report whether any node is releasing resources: otherwise waiting for one is useless."""
        return self._amounts.has_releasing

    def status_of(self, task: Task) -> TaskStatus:
        return _STATUSES[self.codes[task.row]]

    def is_pending(self, task: Task) -> bool:
        return bool(self.codes[task.row] == 0)

    def row_of(self, task: Task) -> int:
        """Return the node row of a task, -1 if it has none."""
        return int(self.node_rows[task.row])

    def node_name(self, task: Task) -> str:
        row = self.row_of(task)
        return self.nodes.names[row] if row >= 0 else ""

    def tally(self, number: int) -> NDArray[np.int32] | None:
        """Return the pods counted per node for a term; None if there are none."""
        if self._deferred:
            self._deferred.catch_up(number, self._own_tally)
        return self._tallies.get(number)

    def parts_of_tally(self, number: int) -> tuple[NDArray[np.int32] | None, Sequence[tuple[FeedSum, int]]]:
        """Return the same as `tally`, for a reader that adds up domains: the tally, and sums that it does not contain
        with their sign.
        """
        missing = self._deferred.outside_of(number) if self._deferred else None
        return (self.tally(number), ()) if missing is None else (self._tallies.get(number), missing)

    def own_tally(self, number: int) -> NDArray[np.int32]:
        """Return the pods counted per node for a term, writable."""
        if self._deferred:
            self._deferred.catch_up(number, self._own_tally)
        return self._own_tally(number)

    def _own_tally(self, number: int) -> NDArray[np.int32]:
        if number not in self._own_tallies:
            tally = self._tallies.get(number)
            self._tallies[number] = np.zeros(len(self.nodes), dtype=np.int32) if tally is None else tally.copy()
            self._own_tallies.add(number)
        return self._tallies[number]

    # -- operations ---------------------------------------------------------------------------------------------

    def place(self, tasks: Sequence[Task], rows: Sequence[int], status: TaskStatus) -> LedgerEntry:
        """Place pending tasks of one job and class: allocated, binding at once, or pipelined until releasing pods are
        gone.
        """
        task_class, codes, amounts = tasks[0].task_class, self.codes, self._amounts
        for task in tasks:
            if codes[task.row]:
                raise LedgerInconsistency(f"{task.key} is {self.status_of(task).label} and cannot be placed again")
        columns, saved = amounts.add(rows, amounts.effect(task_class, status))
        if amounts.is_overcommitted(task_class, columns, status):
            amounts.restore(columns, saved)
            raise LedgerInconsistency(f"{tasks[0].key} and {len(tasks) - 1} more do not fit on their nodes")
        if task_class.volumes is not None or task_class.claims is not None:
            missing = self._allocations.take(tasks, rows, later=status is TaskStatus.PIPELINED)
            if missing:
                amounts.restore(columns, saved)
                raise LedgerInconsistency(f"{tasks[0].key} and {len(tasks) - 1} more have no {missing} on their nodes")
        if status is TaskStatus.PIPELINED:
            self.holds_nominated, self.is_scored_as_used = True, False
        elif task_class.is_scored_higher:
            self.is_scored_as_used = False
        return self._enter(tasks, rows, TaskStatus.PENDING, status, columns, saved, len(tasks))

    def evict(self, tasks: Sequence[Task]) -> LedgerEntry:
        """Start releasing placed tasks of one class and status: of any jobs, on any nodes."""
        task_class, before = tasks[0].task_class, _STATUSES[self.codes[tasks[0].row]]
        rows = self._start_releasing(tasks, before)
        columns, saved = self._amounts.add(rows, self._amounts.effect_of_eviction(task_class))
        counts, sums = self._counters.release(tasks, before)
        entry = LedgerEntry(tasks, rows, before, TaskStatus.RELEASING, counts, sums, columns, saved)
        if task_class.feeds:
            self._feed(entry, task_class, rows, -1)
        self._allocations.evict(entry)
        if self.budgets.of_task:
            for task in tasks:
                self.budgets.spend(task.uid)
        self.freed += 1
        self.is_scored_as_used = False
        return entry

    def _start_releasing(self, tasks: Sequence[Task], before: TaskStatus) -> list[int]:
        """Mark tasks as releasing, and return their node rows. If one of them cannot be evicted, none is marked."""
        codes, node_of, rows = self.codes, self.node_rows, list[int]()
        code = before.value if before in _EVICTABLE else -1
        for task in tasks:
            place = task.row
            row = node_of[place]
            if codes[place] != code or row < 0:
                for marked in tasks[: len(rows)]:
                    codes[marked.row] = code
                where = self.node_name(task) or "no known node"
                raise LedgerInconsistency(
                    f"{task.key} is {self.status_of(task).label} on {where} and cannot be evicted"
                )
            codes[place] = _RELEASING
            rows.append(row)
        return rows

    def unpipeline(self, task: Task) -> LedgerEntry:
        """Release the capacity of a pipelined task; the task is pending again."""
        if self.status_of(task) is not TaskStatus.PIPELINED:
            raise LedgerInconsistency(f"{task.key} is {self.status_of(task).label} and is not pipelined")
        row = self.row_of(task)
        columns, saved = self._amounts.add([row], -self.effect(task.task_class, TaskStatus.PIPELINED))
        entry = self._enter([task], [row], TaskStatus.PIPELINED, TaskStatus.PENDING, columns, saved, -1)
        self._allocations.unpipeline(entry)
        self.freed += 1
        return entry

    def relocate(self, task: Task, row: int) -> LedgerEntry:
        """Nominate capacity on another node for the successor of a releasing task. Its job and its queue hold as much
        as before the eviction.
        """
        if self.status_of(task) is not TaskStatus.RELEASING:
            raise LedgerInconsistency(f"{task.key} is {self.status_of(task).label} and cannot be relocated")
        task_class, leaving, amounts = task.task_class, TaskStatus.RELEASING, self._amounts
        columns, saved = amounts.add([row], amounts.effect(task_class, TaskStatus.PIPELINED))
        if amounts.is_overcommitted(task_class, columns, TaskStatus.PIPELINED):
            amounts.restore(columns, saved)
            raise LedgerInconsistency(f"{task.key} does not fit on the target node")
        self.holds_nominated, self.is_scored_as_used = True, False
        job = self._counters.own(task.job)
        sums = self._counters.add(job, task_class, 1)
        entry = LedgerEntry([task], [row], leaving, leaving, [], sums, columns, saved, successors=[_successor(task)])
        self._allocations.relocate(entry)
        self._feed(entry, task_class, [row], 1)
        return entry

    def _enter(
        self,
        tasks: Sequence[Task],
        rows: Sequence[int],
        before: TaskStatus,
        after: TaskStatus,
        columns: Index | int,
        saved: Block,
        copies: int,
    ) -> LedgerEntry:
        """Move tasks of one job and class from one status to another in everything but the amounts of nodes."""
        task_class, counters = tasks[0].task_class, self._counters
        job = counters.own(tasks[0].job)
        counts = counters.move(job, tasks, before, after)
        status, node_of = self.codes, self.node_rows
        for task, row in zip(tasks, rows, strict=True):
            status[task.row] = after
            node_of[task.row] = row if after else -1
        sums = counters.add(job, task_class, copies)
        entry = LedgerEntry(tasks, rows, before, after, counts, sums, columns, saved)
        if task_class.feeds:
            self._feed(entry, task_class, rows, 1 if copies > 0 else -1)
        return entry

    def _feed(self, entry: LedgerEntry, task_class: TaskClass, rows: Sequence[int], step: int) -> None:
        """Count pods that are placed, or leave, for every term that selects them."""
        entry.fed = step
        self._count_pods(task_class, rows, step)

    def _count_pods(self, task_class: TaskClass, rows: Sequence[int], step: int) -> None:
        feeds = task_class.feeds
        at_once = self._deferred.add(task_class, rows, step) if len(feeds) > _MANY_FEEDS else feeds
        for number in at_once:
            column = self.own_tally(number)
            for row in rows:
                column[row] += step
        if feeds:
            self.fed.append((task_class, rows, step))

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

    def nominate(self, task: Task, row: int) -> None:
        """Nominate capacity on a node for a pending task: it counts for the node, but not for job and queue."""
        self.holds_nominated, self.is_scored_as_used = True, False
        self._count_nominated(task, row, 1)
        self._allocations.nominate(task, row)

    def release_nomination(self, task: Task, row: int) -> None:
        """Undo `nominate`."""
        self._count_nominated(task, row, -1)
        self._allocations.release(task, row)
        self.freed += 1

    def _count_nominated(self, task: Task, row: int, sign: int) -> None:
        self._amounts.add([row], sign * self.effect(task.task_class, TaskStatus.PIPELINED))
        for dimension, amount in task.task_class.request:
            self.nominated[dimension, row] += sign * amount
        self._count_pods(task.task_class, [row], sign)

    def reserve_capacity(self, capacity: Block, sign: int = 1) -> None:
        """Reserve capacity on many nodes at once, by resource and node, for jobs that start later; or, with -1, release
        it.
        """
        self._amounts.reserve(capacity, sign)
        self.holds_nominated = True
        self.freed += sign < 0

    def invalidate(self) -> None:
        """Invalidate everything that was derived from the amounts of any node."""
        self.log.add(range(len(self.nodes)))
        self.freed += 1

    def bind(self, tasks: Sequence[Task]) -> None:
        """Mark allocated tasks of one job and class as binding. Final: committed placements are not undone here."""
        self._counters.bind(tasks)
        codes = self.codes
        for task in tasks:
            codes[task.row] = _BINDING

    def move(self, tasks: Sequence[Task], rows: Sequence[int]) -> None:
        """Move binding tasks of this cycle to other nodes: all leave theirs before the first takes its new one.

        Jobs and queues hold the same. The tasks have nothing on their nodes but amounts: no volumes, claims, devices or
        tallies.
        """
        amounts, binding = self._amounts, TaskStatus.BINDING
        for task in tasks:
            amounts.add([self.row_of(task)], -amounts.effect(task.task_class, binding))
        for task, row in zip(tasks, rows, strict=True):
            columns, _ = amounts.add([row], amounts.effect(task.task_class, binding))
            self.node_rows[task.row] = row
            if amounts.is_overcommitted(task.task_class, columns, binding):
                raise LedgerInconsistency(f"{task.key} does not fit on {self.node_name(task)}")
        self.freed += 1

    def undo(self, entry: LedgerEntry) -> None:
        """Restore everything the operation overwrote."""
        self._amounts.restore(entry.columns, entry.saved_columns)
        self.log.add(entry.rows)
        for counts, saved in reversed(entry.saved_counts):
            counts[:] = saved
        for sums, saved in reversed(entry.saved_sums):
            sums[:] = saved
        if entry.fed:
            self._count_pods(entry.tasks[0].task_class, entry.rows, -entry.fed)
        self.freed += 1
        self._allocations.undo(entry)
        if entry.successors:
            return
        if entry.after is TaskStatus.RELEASING and self.budgets.of_task:
            for task in entry.tasks:
                self.budgets.spend(task.uid, -1)
        had_node = entry.before is not TaskStatus.PENDING
        for task, row in zip(entry.tasks, entry.rows, strict=True):
            self.codes[task.row] = entry.before.value
            self.node_rows[task.row] = row if had_node else -1

    # -- fingerprint --------------------------------------------------------------------------------------------

    def fingerprint(self) -> bytes:
        """Return every mutable byte of the ledger, to prove that an undo restored it."""
        parts = [self.amounts.tobytes(), self.status.tobytes(), self.node_of.tobytes(), *self._counters.fingerprint()]
        parts += [repr(self.budgets.left).encode(), self.volumes.fingerprint(), self.claims.fingerprint()]
        for number in self._deferred.numbers:
            self._deferred.catch_up(number, self._own_tally)
        for number, column in sorted(self._tallies.items()):
            if column.any():
                parts.append(repr(number).encode() + column.tobytes())
        return b"|".join(parts)


def _successor(task: Task) -> Task:
    """Copy a task as its own successor, with a uid that keeps accounting by uid apart."""
    return replace(task, uid=f"{task.uid}/successor")
