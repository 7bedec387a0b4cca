"""An auditor recomputes the ledger from the initial snapshot and the current nodes of tasks.

Only the status and node columns are read from the ledger. Amounts are added task by task in plain Python, so that an
arithmetic error of the ledger is not repeated here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.nodes.amounts import AmountLayout
from stromboli.core.model.queues.queue import ROOT
from stromboli.core.model.snapshot import Snapshot
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.session.session import Session

PLACED = (TaskStatus.ALLOCATED, TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING)
#: Statuses that count for job and queue, including pipelined tasks.
HELD = (*PLACED, TaskStatus.PIPELINED)
OCCUPYING = (*PLACED, TaskStatus.RELEASING, TaskStatus.UNKNOWN)
PENDING_BEST_EFFORT = len(TaskStatus)


class Auditor:
    def __init__(self, before: Snapshot) -> None:
        """`before` is an unused snapshot of the session's cluster."""
        self._before = before
        self._layout = before.layout
        self._tasks = [task for key in sorted(before.jobs) for task in before.jobs[key].tasks.values()]

    def audit(self, session: Session) -> None:
        """Every amount and counter must equal the recomputed value."""
        self._check_columns(session)
        assert session.ledger.amounts.tolist() == self._expected_books(session)
        assert self._tallies(session) == self._expected_tallies(session)
        for key, job in session.jobs.items():
            self._check_job(session, key, job)
        self._check_queues(session)
        self._check_capacity(session)

    # -- where tasks stand ----------------------------------------------------------------------------------------

    def _then(self, task: Task) -> tuple[TaskStatus, int]:
        return TaskStatus(int(self._before.status[task.row])), int(self._before.node_of[task.row])

    def _now(self, session: Session, task: Task) -> tuple[TaskStatus, int]:
        return TaskStatus(int(session.ledger.status[task.row])), int(session.ledger.node_of[task.row])

    def moved(self, session: Session) -> Iterator[tuple[Task, tuple[TaskStatus, int], tuple[TaskStatus, int]]]:
        """Yield tasks whose status or node differs from the snapshot, with both states."""
        for task in self._tasks:
            then, now = self._then(task), self._now(session, task)
            if then != now:
                yield task, then, now

    def _check_columns(self, session: Session) -> None:
        for task, then, (status, row) in self.moved(session):
            assert (row >= 0) == (status is not TaskStatus.PENDING), f"{task.key} is {status.label} on row {row}"
            if status is TaskStatus.RELEASING:
                assert row == then[1], f"{task.key} is evicted from a node it was not on"

    # -- nodes ----------------------------------------------------------------------------------------------------

    def _expected_books(self, session: Session) -> list[list[int]]:
        books: list[list[int]] = self._before.amounts.tolist()
        for task, (then, row_then), (now, row_now) in self.moved(session):
            for fact, amount in _effect(self._layout, task, then, evicted=False):
                books[fact][row_then] -= amount
            for fact, amount in _effect(self._layout, task, now, evicted=now is TaskStatus.RELEASING):
                books[fact][row_now] += amount
        return books

    def _tallies(self, session: Session) -> dict[int, list[int]]:
        numbers = range(len(self._before.terms.counted))
        known = ((number, session.ledger.tally(number)) for number in numbers)
        return {number: column.tolist() for number, column in known if column is not None and column.any()}

    def _expected_tallies(self, session: Session) -> dict[int, list[int]]:
        tallies = {number: column.tolist() for number, column in self._before.tallies.items()}
        for task, (then, row_then), (now, row_now) in self.moved(session):
            for number in task.task_class.feeds:
                column = tallies.setdefault(number, [0] * len(self._before.nodes))
                column[row_then] -= then is not TaskStatus.PENDING
                column[row_now] += now not in (TaskStatus.PENDING, TaskStatus.RELEASING)
        return {number: column for number, column in tallies.items() if any(column)}

    def _check_capacity(self, session: Session) -> None:
        """Where a session placed something, nothing is overcommitted: now for allocated tasks, and for pipelined ones
        once releasing pods are gone.
        """
        books, layout = session.ledger.amounts.tolist(), self._layout
        for task, _, (status, row) in self.moved(session):
            for dimension, _ in task.task_class.request if status in HELD else ():
                idle = books[layout.idle + dimension][row]
                later = idle + books[layout.releasing + dimension][row] - books[layout.pipelined + dimension][row]
                assert later >= 0, f"{task.key} is {status.label} where capacity is nominated twice"
                assert status is TaskStatus.PIPELINED or idle >= 0, f"{task.key} does not fit"

    # -- jobs and queues ------------------------------------------------------------------------------------------

    def _check_job(self, session: Session, key: str, job: Job) -> None:
        tasks = list(self._before.jobs[key].tasks.values())
        assert job.counts == self._counts(session, tasks)
        assert job.allocated == self._held(session, tasks)
        for role, counts in job.role_counts.items():
            assert counts == self._counts(session, [task for task in tasks if task.task_class.role == role])
        assert sum(map(sum, job.role_counts.values())) in (0, sum(job.counts))
        for name, sub_job in job.sub_jobs.items():
            assert sub_job.counts == self._counts(session, [task for task in tasks if task.sub_job == name])

    def _counts(self, session: Session, tasks: list[Task]) -> list[int]:
        found: Counter[int] = Counter()
        for task in tasks:
            status = self._now(session, task)[0]
            found[status] += 1
            asks_for_nothing = all(name == "pods" for name in self._names(task))
            found[PENDING_BEST_EFFORT] += status is TaskStatus.PENDING and asks_for_nothing
        return [found[code] for code in range(PENDING_BEST_EFFORT + 1)]

    def _names(self, task: Task) -> list[str]:
        return [self._before.axis.names[dimension] for dimension, _ in task.task_class.request]

    def _held(self, session: Session, tasks: list[Task]) -> list[int]:
        total = [0] * self._before.size
        for task in tasks:
            if self._now(session, task)[0] in HELD:
                for dimension, amount in task.task_class.request:
                    total[dimension] += amount
        return total

    def _check_queues(self, session: Session) -> None:
        expected = {name: [0] * self._before.size for name in session.ledger.queues}
        for job in self._before.jobs.values():
            held = self._held(session, list(job.tasks.values()))
            for name in self._ancestry(job.queue):
                expected[name] = [a + b for a, b in zip(expected[name], held, strict=True)]
        for name, books in session.ledger.queues.items():
            before = self._before.queue_usage[name]
            assert books.allocated == expected[name], f"queue {name}"
            assert (books.request, books.inqueue, books.elastic) == (before.request, before.inqueue, before.elastic)

    def _ancestry(self, queue: str) -> list[str]:
        """Return the queue, its parents, and the root, each once; a missing parent ends the chain."""
        known, found = self._before.queue_usage, []
        while queue in known and queue not in found:
            found.append(queue)
            queue = self._before.queues[queue].parent if queue in self._before.queues else ""
        return found if ROOT in found or not found else [*found, ROOT]


def _effect(layout: AmountLayout, task: Task, status: TaskStatus, *, evicted: bool) -> Iterator[tuple[int, int]]:
    """Return (fact, amount) that a task adds to its node. An evicted task no longer counts as present."""
    starts = {
        layout.idle: -(status in OCCUPYING),
        layout.used: status in OCCUPYING,
        layout.releasing: status is TaskStatus.RELEASING,
        layout.pipelined: status is TaskStatus.PIPELINED,
    }
    for start, sign in starts.items():
        for dimension, amount in task.task_class.request:
            yield start + dimension, sign * amount
    if (status in OCCUPYING or status is TaskStatus.PIPELINED) and not evicted:
        for dimension, amount in enumerate(task.task_class.scored_request):
            yield layout.scored + dimension, amount
