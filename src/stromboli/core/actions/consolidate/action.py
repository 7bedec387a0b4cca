"""The loop of consolidate: which jobs to try, and how many pods to move in a cycle."""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.actions.consolidate.search import RelocationSearch
from stromboli.core.config.action import Action
from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.model.jobs.job import Job, role_pipelined
from stromboli.core.model.reasons import Reason
from stromboli.core.model.resources.resources import add_request
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.domains import need_key
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.session import Session

Need = tuple[object, ...]


class ConsolidateArguments(Arguments):
    max_moved_pods: int = Argument(
        "maxMovedPods", 16, "How many pods may be moved in a cycle; -1 for any number.", minimum=-1
    )
    max_tried_jobs: int = Argument("maxTriedJobs", 10, "For how many jobs a plan is searched in a cycle.", minimum=1)


class Consolidate(Action):
    name = "consolidate"
    arguments = ConsolidateArguments()

    def execute(self, session: Session) -> None:
        waiting = [job for job in session.waiting if job.phase != "Pending" and not job.has_minimum(role_pipelined)]
        max_moves = self.arguments.max_moved_pods
        if not waiting or not len(session.nodes) or not max_moves:
            return
        cycle = _Cycle(session, max_moves, self.arguments.max_tried_jobs)
        job_order = JobOrder(session, waiting)
        while cycle.tries_left and (queue := job_order.next_queue()) is not None:
            if session.is_overused(queue):
                continue
            job = job_order.next_job(queue)
            if job is not None:
                with session.refusals.isolate_errors(job):
                    cycle.serve(job)
            job_order.return_queue(queue)


class _Cycle:
    """The moves and failures of this cycle."""

    def __init__(self, session: Session, max_moves: int, tries: int) -> None:
        self._session = session
        self._max_moves: int | None = None if max_moves < 0 else max_moves
        self._moved = 0
        self.tries_left = tries
        #: By need, the smallest number of tasks that failed, and the reason.
        self._too_many: dict[Need, tuple[int, Reason]] = {}

    def serve(self, job: Job) -> None:
        session, tasks = self._session, self._session.pending(job)
        if session.job_ready(job) or not tasks or not self._has_enough_in_sum(job, tasks):
            return
        need, number = need_key(job, tasks, is_own=False), session.tasks_until_ready(job)
        known = self._too_many.get(need)
        if known is not None and number >= known[0]:
            session.refusals.add(job, known[1])
            return
        self.tries_left -= 1
        moving = RelocationSearch(
            session, job, Consolidate.name, None if self._max_moves is None else self._max_moves - self._moved
        )
        self._moved += moving.carry_out(tasks)
        if moving.refusal is not None:
            self._too_many[need] = number, moving.refusal

    def _has_enough_in_sum(self, job: Job, tasks: Sequence[Task]) -> bool:
        """Report whether the sum of free capacity, which moves do not increase, suffices for the needed tasks."""
        session, wanted = self._session, [0] * self._session.snapshot.size
        for task in tasks[: session.tasks_until_ready(job)]:
            add_request(wanted, task.task_class.request)
        idle = session.ledger.all_rows.future_idle
        return all(int(idle(d).clip(min=0).sum()) >= amount for d, amount in enumerate(wanted) if amount)
