"""The turns of allocate: which queue, which job, and what becomes of the attempt."""

from __future__ import annotations

from stromboli.actions.allocate.domains import DomainSearch
from stromboli.actions.allocate.placing import Placing
from stromboli.actions.allocate.worksheet import Worksheet
from stromboli.framework.action import Action
from stromboli.framework.arguments import Argument
from stromboli.framework.refusals import TaskRefusal
from stromboli.framework.session import Session
from stromboli.framework.turns import Turns
from stromboli.model.job import Job
from stromboli.model.ledger import BrokenBooks
from stromboli.model.queue import Queue
from stromboli.model.reasons import Reason

PREDICATE_CACHE = Argument(
    "predicateErrorCacheEnable", bool, True, "Volcano's cache of refusals per role.",
    ignored="answers are always kept per task class, which is exact",
)  # fmt: skip


class Allocate(Action):
    name = "allocate"
    arguments = (PREDICATE_CACHE,)

    def execute(self, session: Session) -> None:
        worksheets = self._worksheets(session)
        turns = Turns(session, (session.jobs[key] for key in worksheets))
        while (queue := turns.next_queue()) is not None:
            if not self._is_overused(session, queue):
                self._take_turn(session, turns, queue, worksheets)
                turns.return_queue(queue)

    def _is_overused(self, session: Session, queue: Queue) -> bool:
        try:
            refusal = session.overused(queue)
        except Exception as error:
            session.blame_for_queue(queue, error)
            return True
        if refusal is not None:
            session.queue_refusals[queue.name] = refusal
        return refusal is not None

    def _worksheets(self, session: Session) -> dict[str, Worksheet]:
        """What there is to do, by job. Without the enqueue action every pending job is let in here."""
        admits = not any(action.name == "enqueue" for action in session.program.actions)
        worksheets = {}
        for job in session.waiting:
            if job.phase == "Pending":
                if not admits:
                    continue
                job.phase = "Inqueue"
            try:
                tasks = session.pending(job)
            except Exception as error:
                session.blame(job, error)
                continue
            if tasks:
                worksheets[job.key] = Worksheet(tasks)
        return worksheets

    def _take_turn(self, session: Session, turns: Turns, queue: Queue, worksheets: dict[str, Worksheet]) -> None:
        job = turns.next_job(queue)
        if job is None:
            return
        worksheet = worksheets[job.key]
        try:
            again = self._attempt(session, job, worksheet)
        except BrokenBooks:
            raise
        except Exception as error:
            session.blame(job, error)
            return
        if again and worksheet:
            turns.return_job(job)

    def _attempt(self, session: Session, job: Job, worksheet: Worksheet) -> bool:
        """Try to give the job what it needs next. True when something was committed."""
        if job.spec.policies or job.spec.topology:
            return DomainSearch(session, job).allocate(worksheet)
        if self._is_known_to_fail(session, job, worksheet):
            return False
        with session.statement() as statement:
            ready = Placing(session, statement, job).run(worksheet)
            if statement.operations and (ready or session.job_ready(job)):
                statement.commit()
                return True
            if statement.operations and session.job_pipelined(job):
                statement.keep()
                return False
        self._remember_failure(session, job)
        return False

    # -- what earlier attempts taught ---------------------------------------------------------------------------

    def _is_known_to_fail(self, session: Session, job: Job, worksheet: Worksheet) -> bool:
        """Whether the same class was refused before, nothing was freed since, and this job needs as much."""
        view = session.search.view(worksheet.first.task_class)
        room = session.search.known_room(view)
        if room is None:
            return False
        mark = worksheet.mark
        run = worksheet.take_run(session.tasks_until_ready(job))
        worksheet.return_to(mark)
        needs_all = len(run) == 1 or job.min_available >= len(job.tasks)
        if room >= len(run) or not needs_all or run[0].nominated_node or view.refusal is None:
            return False
        if len(run) < len(worksheet) and job.can_go_on_without([run[0].role]):
            return False
        reason = Reason(view.refusal.code, str(view.refusal))
        number = run[0].task_class.number
        session.refusal_of(job).add_task(TaskRefusal(run[0].key, number, reason, view.refusal, room))
        return True

    def _remember_failure(self, session: Session, job: Job) -> None:
        """Only what a lone class of tasks met is worth remembering: its room does not depend on what else was
        placed.
        """
        refused = session.refusals.get(job.key)
        if refused is None or len(refused.tasks) != 1 or session.kept:
            return
        refusal = next(iter(refused.tasks.values()))
        if refusal.nodes is None:
            return
        task = next(t for t in job.tasks.values() if t.task_class.number == refusal.class_number)
        alone = all(t.task_class is task.task_class for t in job.tasks.values() if session.ledger.is_pending(t))
        if alone:
            view = session.search.view(task.task_class)
            view.refusal = refusal.nodes
            session.search.remember_room(view, refusal.placed)
