"""backfill: place the tasks without a request, wherever no filter and no topology of their job rejects them.

They need no capacity but a pod slot, so no quota applies. A task that was only pipelined is placed where a slot is
free, and otherwise keeps the slot that it waits for.

With a strategy, waiting jobs get reservations, and others may fill the gaps before them. That is implemented in
`allocate`, which reads the arguments of this action: a job that fills a gap must not be rejected first and served
afterwards.
"""

from __future__ import annotations

from stromboli.core.config.action import Action
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.reservations.options import BackfillArguments
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.refusals import TaskRefusal
from stromboli.core.session.session import Session
from stromboli.core.topology.sub_jobs import domains_of


class Backfill(Action):
    name = "backfill"
    arguments = BackfillArguments()

    def execute(self, session: Session) -> None:
        job_order = JobOrder(
            session, (job for job in session.waiting if job.phase != "Pending" and self._tasks(session, job))
        )
        while (queue := job_order.next_queue()) is not None:
            while (job := job_order.next_job(queue)) is not None:
                self._serve(session, job)

    def _tasks(self, session: Session, job: Job) -> list[Task]:
        if not (job.pending_best_effort_count or job.pipelined_count):
            return []
        waiting = (TaskStatus.PENDING, TaskStatus.PIPELINED)
        return [
            task
            for task in job.tasks.values()
            if task.task_class.best_effort and not task.held_back and session.ledger.status_of(task) in waiting
        ]

    def _serve(self, session: Session, job: Job) -> None:
        with session.refusals.isolate_errors(job), session.serving(job):
            for task in sorted(self._tasks(session, job), key=session.task_order_key):
                self._place(session, job, task)

    def _rows(self, session: Session, job: Job, task: Task) -> list[int]:
        """The best node in the first of the job's domains that has one for the task."""
        found = (session.search.find_nodes(task, 1, inside) for inside in domains_of(session, job, task))
        return next(filter(None, found), [])

    def _place(self, session: Session, job: Job, task: Task) -> None:
        reason = session.pre_predicate(task.task_class)
        rows = self._free_rows(session, job, task) if reason is None else []
        if rows:
            session.allocate(task, rows[0])
        elif not self._waits_for_slot(session, task):
            self._refuse(session, job, task, reason)

    def _free_rows(self, session: Session, job: Job, task: Task) -> list[int]:
        """The nodes for a task; a pipelined task is released if there is one."""
        with session.statement() as statement:
            if session.ledger.status_of(task) is TaskStatus.PIPELINED:
                statement.unpipeline(task)
            rows = self._rows(session, job, task)
            if rows:
                statement.commit()
        return rows

    def _waits_for_slot(self, session: Session, task: Task) -> bool:
        """Report whether the task is pipelined, now or again: for the slot of a victim that is still terminating."""
        if session.ledger.status_of(task) is TaskStatus.PIPELINED:
            return True
        row = session.nodes.index.get(task.nominated_node, -1)
        if row < 0 or not session.search.accepts(task, row):
            return False
        session.pipeline(task, row)
        return True

    def _refuse(self, session: Session, job: Job, task: Task, reason: Reason | None) -> None:
        nodes = None
        if reason is None and session.search.find_nodes(task, 1):
            reason = Reason(Code.NO_DOMAIN, "no domain that the job may use has a node for it")
        elif reason is None:
            nodes = session.search.refusals(task.task_class)
            reason = nodes.reason
        session.refusals.of(job).add_task(TaskRefusal(task.key, task.task_class.number, reason, nodes))
