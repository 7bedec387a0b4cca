"""The turns of allocate: which queue, which job, and what becomes of the attempt."""

from __future__ import annotations

from stromboli.core.actions.allocate.domain_search import DomainSearch
from stromboli.core.actions.allocate.failure_cache import is_known_to_fail, remember_failure
from stromboli.core.actions.allocate.gang_placer import Placing
from stromboli.core.actions.allocate.pending_tasks import Worksheet
from stromboli.core.actions.allocate.reservations import Reserving, reserving_in
from stromboli.core.config.action import Action
from stromboli.core.config.arguments import PREDICATE_ERROR_CACHE
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.ledger import BrokenBooks
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.session.job_order import Turns
from stromboli.core.session.refusals import NodeRefusals
from stromboli.core.session.session import Session


class Allocate(Action):
    name = "allocate"
    arguments = (PREDICATE_ERROR_CACHE,)

    def execute(self, session: Session) -> None:
        worksheets = self._worksheets(session)
        if not len(session.nodes):
            for key in worksheets:
                session.refuse(session.jobs[key], Reason(Code.NO_NODES, str(NodeRefusals(0, ()))))
            return
        turns = Turns(session, (session.jobs[key] for key in worksheets))
        reserving = reserving_in(session, self._attempt)
        try:
            while (queue := turns.next_queue()) is not None:
                if not session.is_overused(queue):
                    self._take_turn(session, turns, queue, worksheets, reserving)
                    turns.return_queue(queue)
        finally:
            if reserving is not None:
                reserving.close()

    def _worksheets(self, session: Session) -> dict[str, Worksheet]:
        """What there is to do, by job. Without the enqueue action every pending job is let in here, also one whose
        pods do not exist yet: controllers may wait for that before they create any.
        """
        if not any(action.name == "enqueue" for action in session.program.actions):
            for job in session.admissible:
                job.phase = "Inqueue" if job.phase == "Pending" else job.phase
        worksheets = {}
        for job in session.waiting:
            if job.phase == "Pending":
                continue
            try:
                tasks = session.pending(job)
            except Exception as error:
                session.blame(job, error)
                continue
            if tasks:
                worksheets[job.key] = Worksheet(tasks)
        return worksheets

    def _take_turn(
        self,
        session: Session,
        turns: Turns,
        queue: Queue,
        worksheets: dict[str, Worksheet],
        reserving: Reserving | None,
    ) -> None:
        job = turns.next_job(queue)
        if job is None:
            return
        worksheet = worksheets[job.key]
        try:
            if session.rooms.are_kept_for(job):
                worksheet.put_promised_first()
            with session.turn_of(job):
                again = self._attempt(session, job, worksheet) if reserving is None else reserving.serve(job, worksheet)
        except BrokenBooks:
            raise
        except Exception as error:
            session.blame(job, error)
            return
        if again and worksheet:
            turns.return_job(job)

    def _attempt(self, session: Session, job: Job, worksheet: Worksheet) -> bool:
        """Try to give the job what it needs next. True when it may run, so that its other tasks get their turn."""
        if job.spec.policies or job.spec.topology:
            return DomainSearch(session, job).allocate(worksheet)
        if is_known_to_fail(session, job, worksheet):
            return False
        with session.statement() as statement:
            ready = Placing(session, statement, job).run(worksheet)
            ready = ready or session.job_ready(job)
            if statement.operations and ready:
                statement.commit()
                return True
            if statement.operations and session.job_pipelined(job):
                statement.keep()
                return False
        remember_failure(session, job)
        return ready
