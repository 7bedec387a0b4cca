"""Placing the tasks of one job on one statement, until the job is ready or cannot become ready."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stromboli.core.actions.allocate.pending_tasks import PendingTasks
from stromboli.core.model.jobs.job import Job, SubJob
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.session.refusals import NodeRefusals, TaskRefusal
from stromboli.core.session.session import Session
from stromboli.core.session.statement import Statement
from stromboli.core.topology.sub_jobs import needed_by


class GangPlacer:
    """One attempt: place pending tasks on nodes, inside a domain or anywhere."""

    def __init__(
        self,
        session: Session,
        statement: Statement,
        job: Job,
        sub_job: SubJob | None = None,
        within: Mask | None = None,
    ) -> None:
        self._session = session
        self._search = session.search
        self._statement = statement
        self._job = job
        self._sub_job = sub_job
        self._within = within
        self._queue = session.queue_of(job)
        #: The last task without a node.
        self.refused: TaskRefusal | None = None
        self._failed_roles: list[str] = []
        #: The number of operations when a class was rejected: without further operations it would be rejected again.
        self._refused_at: dict[int, int] = {}

    def run(self, pending_tasks: PendingTasks) -> bool:
        """Place tasks until the job can start (True), until it only waits for terminating pods, or until a required
        task finds no node.

        Only a placement ends the attempt successfully: in a ready job, one task without a node does not end it.
        """
        while pending_tasks:
            run = pending_tasks.take_run(self._wanted())
            placed = len(self._statement.operations)
            if not self._serve(run):
                return False
            if len(self._statement.operations) == placed:
                continue
            if self._is_ready():
                return True
            if self._sub_job is None and waits_for_release_only(self._session, self._job):
                return False
        return False

    def _wanted(self) -> int:
        """Return how many tasks may be placed before the job may be ready, or only wait for terminating pods."""
        if self._sub_job is not None:
            return needed_by(self._session, self._sub_job)
        return max(self._session.tasks_until_ready(self._job) - self._job.pipelined_count, 1)

    def _is_ready(self) -> bool:
        if self._sub_job is not None:
            return self._session.sub_job_ready(self._job, self._sub_job)
        return self._session.job_ready(self._job)

    def _serve(self, run: Sequence[Task]) -> bool:
        """Place a run of equal tasks. False when the attempt has failed."""
        task_class = run[0].task_class
        if self._refused_at.get(task_class.number) == len(self._statement.operations):
            return True
        if task_class.role and task_class.role in self._failed_roles:
            detail = f"another pod of role {task_class.role!r} found no node"
            self._refuse(run[0], Reason(Code.ROLE_REFUSED, detail), None, 0, keep=True)
            return True
        allowance = self._session.allocatable(self._queue, task_class, len(run))
        if allowance is not None:
            self._not_allowed(run[allowance.number], allowance.reason)
            run = run[: allowance.number]
            if not run:
                self._refused_at[task_class.number] = len(self._statement.operations)
                return True
        unplaceable = self._session.pre_predicate(task_class)
        if unplaceable is not None:
            return self._record_failure(run[0], lambda: (unplaceable, None), 0)
        placed = self._place(run)
        if placed == len(run):
            return True
        return self._record_failure(run[placed], lambda: self._no_node(run[placed]), self._placed_of(task_class))

    def _placed_of(self, task_class: TaskClass) -> int:
        """Return how many tasks of the class are placed in this attempt, those of earlier runs included."""
        entries = (operation.entry for operation in self._statement.operations)
        return sum(len(entry.tasks) for entry in entries if entry.tasks[0].task_class is task_class)

    def _place(self, run: Sequence[Task]) -> int:
        """Place or pipeline tasks of the run; return how many."""
        placed = 0
        while placed < len(run):
            task = run[placed]
            if task.nominated_node and self._take_nominated(task):
                placed += 1
                continue
            rows = self._search.take_nodes(task, len(run) - placed, self._within)
            if rows:
                self._statement.allocate(run[placed : placed + len(rows)], rows)
                self._search.settle(task.task_class, rows)
                placed += len(rows)
                continue
            row = self._search.find_future_node(task, self._within)
            if row < 0:
                break
            self._statement.pipeline(task, row)
            placed += 1
        return placed

    def _take_nominated(self, task: Task) -> bool:
        """Try the nominated node of the task first."""
        row = self._session.nodes.index.get(task.nominated_node, -1)
        if row < 0 or (self._within is not None and not self._within[row]) or not self._search.accepts(task, row):
            return False
        self._statement.place(task, row)
        return True

    # -- refusals -----------------------------------------------------------------------------------------------

    def _record_failure(self, task: Task, why: Callable[[], tuple[Reason, NodeRefusals | None]], placed: int) -> bool:
        """Record why a task found no node, and report whether the job can still get enough without it."""
        reason, nodes = why()
        self._refuse(task, reason, nodes, placed)
        self._refused_at[task.task_class.number] = len(self._statement.operations)
        if task.role:
            self._failed_roles.append(task.role)
        return self._job.can_go_on_without(self._failed_roles or [task.role], self._sub_job)

    def _no_node(self, task: Task) -> tuple[Reason, NodeRefusals]:
        nodes = self._search.refusals(task.task_class, self._within)
        return nodes.reason, nodes

    def _not_allowed(self, task: Task, reason: Reason | None) -> None:
        refusal = reason or Reason(Code.QUEUE_SHARE, f"queue {self._queue.name} may not take more")
        self._refuse(task, refusal, None, 0, keep=True)
        self._session.refusals.add(self._job, refusal)

    def _refuse(
        self, task: Task, reason: Reason, nodes: NodeRefusals | None, placed: int, *, keep: bool = False
    ) -> None:
        """Record the rejection of a class; with `keep`, an earlier one stays."""
        known = self._session.refusals.of(self._job)
        number = task.task_class.number
        self.refused = TaskRefusal(task.key, number, reason, nodes, placed)
        if not (keep and number in known.tasks):
            known.add_task(self.refused)


def waits_for_release_only(session: Session, job: Job) -> bool:
    """Report whether the job has its minimum, a part of it on capacity of terminating pods."""
    return not job.is_starving and session.job_pipelined(job)
