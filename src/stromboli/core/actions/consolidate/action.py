"""The loop of consolidate: which jobs to try, and how many pods to move in a cycle."""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.actions.consolidate.pending_preemptions import PendingPreemptions
from stromboli.core.actions.consolidate.relocation import jobs_to_move
from stromboli.core.actions.consolidate.search import RelocationDecision, RelocationSearch
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
#: How often the moves of a cycle are planned; if pods are moved that would be evicted even then, no pod is moved.
_MAX_PLANS = 3


class ConsolidateArguments(Arguments):
    max_moved_pods: int = Argument(
        "maxMovedPods", 16, "How many pods may be moved in a cycle; -1 for any number.", minimum=-1
    )
    max_tried_jobs: int = Argument("maxTriedJobs", 10, "For how many jobs a plan is searched in a cycle.", minimum=1)
    reclaims: bool = Argument(
        "reclaims", False, "Where moves alone and other actions do not suffice, evict what the queue may reclaim."
    )
    any_priority: bool = Argument("anyPriority", False, "Move pods of jobs that are more important, too.")


class Consolidate(Action):
    name = "consolidate"
    arguments = ConsolidateArguments()

    def execute(self, session: Session) -> None:
        """Plan all moves; repeat that without the pods that other actions would evict for the jobs that are left."""
        waiting = [job for job in session.waiting if job.phase != "Pending" and not job.has_minimum(role_pipelined)]
        if not waiting or not len(session.nodes) or not self.arguments.max_moved_pods:
            return
        pending = PendingPreemptions(session, self.arguments.max_tried_jobs)
        for _ in range(_MAX_PLANS):
            plan = _Plan(session, self.arguments, pending)
            plan.make(waiting)
            if not plan.takes_pending_victims():
                break
        plan.commit()


class _Plan:
    """The moves of this cycle, none of which is committed, and the failures."""

    def __init__(self, session: Session, arguments: ConsolidateArguments, pending: PendingPreemptions) -> None:
        self._session = session
        self._max_moves = None if arguments.max_moved_pods < 0 else arguments.max_moved_pods
        self._tries_left = arguments.max_tried_jobs
        self._arguments = arguments
        self._pending = pending
        self._decisions: list[RelocationDecision] = []
        self._refusals: list[tuple[Job, Reason]] = []
        #: By need, the smallest number of tasks that failed, and the reason.
        self._too_many: dict[Need, tuple[int, Reason]] = {}

    def make(self, waiting: Sequence[Job]) -> None:
        session, job_order = self._session, JobOrder(self._session, waiting)
        while self._tries_left and (queue := job_order.next_queue()) is not None:
            if session.is_overused(queue):
                continue
            job = job_order.next_job(queue)
            if job is not None:
                with session.refusals.isolate_errors(job):
                    self._serve(job)
            job_order.return_queue(queue)

    def _serve(self, job: Job) -> None:
        session, tasks = self._session, self._session.pending(job)
        if session.job_ready(job) or not tasks:
            return
        suffices = self._has_enough_in_sum(job, tasks)
        if not suffices and not self._arguments.reclaims:
            return
        need, number = need_key(job, tasks, is_own=False), session.tasks_until_ready(job)
        known = self._too_many.get(need)
        if known is not None and number >= known[0]:
            self._refusals.append((job, known[1]))
            return
        self._tries_left -= 1
        moving = self._search(job, reclaims=not suffices)
        decision = moving.decide(tasks) if suffices or not self._pending.has_plan_for(job) else None
        if decision is None and suffices and self._arguments.reclaims and not self._pending.has_plan_for(job):
            decision = self._search(job, reclaims=True).decide(tasks)
        if decision is not None:
            self._decisions.append(decision)
        elif moving.refusal is not None:
            self._refusals.append((job, moving.refusal))
            self._too_many[need] = number, moving.refusal

    def _search(self, job: Job, *, reclaims: bool) -> RelocationSearch:
        movable = jobs_to_move(self._session, job, any_priority=self._arguments.any_priority)
        left, name = self._moves_left(), Consolidate.name
        return RelocationSearch(self._session, job, movable, name, left, self._pending, reclaims=reclaims)

    def _victims(self) -> list[Task]:
        return [victim for decision in self._decisions for victim in decision.victims]

    def _moves_left(self) -> int | None:
        return None if self._max_moves is None else self._max_moves - len(self._victims())

    def takes_pending_victims(self) -> bool:
        """Report whether moved pods would be evicted for a job without a plan. If so, the plan is taken back."""
        moved, starving = self._victims(), self._pending.starving() if self._decisions else []
        if not starving:
            return False
        for decision in reversed(self._decisions):
            decision.undo()
        if self._pending.add(starving, moved):
            self._decisions = []
            return True
        for decision in self._decisions:
            decision.redo()
        return False

    def commit(self) -> None:
        for decision in self._decisions:
            decision.commit(self._session, Consolidate.name)
        for job, refusal in self._refusals:
            self._session.refusals.add(job, refusal)

    def _has_enough_in_sum(self, job: Job, tasks: Sequence[Task]) -> bool:
        """Report whether the sum of free capacity, which moves do not increase, suffices for the needed tasks."""
        session, wanted = self._session, [0] * self._session.snapshot.size
        for task in tasks[: session.tasks_until_ready(job)]:
            add_request(wanted, task.task_class.request)
        idle = session.ledger.all_rows.future_idle
        return all(int(idle(d).clip(min=0).sum()) >= amount for d, amount in enumerate(wanted) if amount)
