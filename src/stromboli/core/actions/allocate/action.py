"""The loop of allocate: which queue, which job, and the result of the attempt."""

from __future__ import annotations

from functools import partial

from stromboli.core.actions.allocate.domain_search import DomainSearch
from stromboli.core.actions.allocate.failure_cache import is_known_failure, remember_failure
from stromboli.core.actions.allocate.gang_placer import GangPlacer, waits_for_release_only
from stromboli.core.actions.allocate.pending_tasks import PendingTasks
from stromboli.core.actions.allocate.plain_turns import PlainTurns
from stromboli.core.actions.allocate.rearrangement import Rearrangement
from stromboli.core.actions.allocate.reservations import ReservationPlacer, plan_places, reservations_of
from stromboli.core.config.action import Action
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.entry import LedgerInconsistency
from stromboli.core.model.queues.queue import Queue
from stromboli.core.reservations.held_nodes import held_nodes_of
from stromboli.core.reservations.options import AllocateArguments
from stromboli.core.reservations.strict_order import strict_order_of
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.refusals import NodeRefusals
from stromboli.core.session.session import Session


class Allocate(Action):
    name = "allocate"
    arguments = AllocateArguments()

    def execute(self, session: Session) -> None:
        pending_tasks_by_job = self._pending_tasks_by_job(session)
        if not len(session.nodes):
            for key in pending_tasks_by_job:
                session.refusals.add(session.jobs[key], NodeRefusals(0, ()).reason)
            return
        reservations = reservations_of(session, self._attempt)
        self._plain_turns = PlainTurns(session)
        self._strict_order = strict_order_of(session)
        self._held_nodes = held_nodes_of(session, plan_places)
        try:
            self._serve_queues(session, pending_tasks_by_job, reservations)
            if session.lends_idle:
                self._lend_idle(session, reservations)
        finally:
            if self._held_nodes is not None:
                self._held_nodes.close()
            if reservations is not None:
                reservations.close()
        keeps_order = reservations is not None or self._strict_order is not None or session.decisions.reservations
        if self.arguments.rearrange and not keeps_order:
            Rearrangement(session).serve(session.jobs[key] for key in pending_tasks_by_job)

    def _serve_queues(
        self,
        session: Session,
        pending_tasks_by_job: dict[str, PendingTasks],
        reservations: ReservationPlacer | None,
    ) -> None:
        job_order = JobOrder(session, (session.jobs[key] for key in pending_tasks_by_job))
        while (queue := job_order.next_queue()) is not None:
            if not session.is_overused(queue):
                self._take_turn(session, job_order, queue, pending_tasks_by_job, reservations)
                job_order.return_queue(queue)

    def _lend_idle(self, session: Session, reservations: ReservationPlacer | None) -> None:
        """Serve the jobs that still wait once more: every queue has had its share, and the rest would stay idle."""
        session.lending = True
        try:
            self._serve_queues(session, self._pending_tasks_by_job(session), reservations)
        finally:
            session.lending = False

    def _pending_tasks_by_job(self, session: Session) -> dict[str, PendingTasks]:
        """The pending tasks, by job. Without the enqueue action every pending job is admitted here, also one without
        pods: controllers may wait for that before they create any.
        """
        if not any(action.name == "enqueue" for action in session.program.actions):
            for job in session.admissible:
                job.phase = "Inqueue" if job.phase == "Pending" else job.phase
        pending_tasks_by_job = {}
        for job in session.waiting:
            if job.phase == "Pending":
                continue
            try:
                tasks = session.pending(job)
            except Exception as error:
                session.refusals.report_error(job, error)
                continue
            if tasks:
                pending_tasks_by_job[job.key] = PendingTasks(tasks)
        return pending_tasks_by_job

    def _take_turn(
        self,
        session: Session,
        job_order: JobOrder,
        queue: Queue,
        pending_tasks_by_job: dict[str, PendingTasks],
        reservations: ReservationPlacer | None,
    ) -> None:
        job = job_order.next_job(queue)
        if job is None:
            return
        pending_tasks, held, strict = pending_tasks_by_job[job.key], self._held_nodes, self._strict_order
        try:
            if held is None and strict is None:
                again = self._serve(session, job, pending_tasks, reservations)
            else:
                again = self._serve_in_order(session, job, pending_tasks, reservations)
        except LedgerInconsistency:
            raise
        except Exception as error:
            session.refusals.report_error(job, error)
            return
        if again and pending_tasks:
            job_order.return_job(job)

    def _serve_in_order(
        self, session: Session, job: Job, pending_tasks: PendingTasks, reservations: ReservationPlacer | None
    ) -> bool:
        """Serve the job beside the nodes that are held for others, and behind earlier jobs of a strict queue."""
        serve = partial(self._serve, session, job, pending_tasks, reservations)
        if self._held_nodes is not None:
            serve = partial(self._held_nodes.serve, job, pending_tasks.rest, serve)
        if self._strict_order is not None and self._strict_order.applies_to(session.queue_of(job)):
            serve = partial(self._strict_order.serve, job, pending_tasks.rest, serve)
        return serve()

    def _serve(
        self, session: Session, job: Job, pending_tasks: PendingTasks, reservations: ReservationPlacer | None
    ) -> bool:
        """Serve the job beside the nominations and reservations of others. True when the job is ready."""
        if reservations is None and self._plain_turns.place_next(job, pending_tasks):
            return True
        if session.nominations.has_nominations_for(job):
            pending_tasks.put_nominated_first()
        with session.serving(job):
            if reservations is not None:
                return reservations.serve(job, pending_tasks)
            return self._attempt(session, job, pending_tasks)

    def _attempt(self, session: Session, job: Job, pending_tasks: PendingTasks) -> bool:
        """Place what the job needs next. True when the job is ready, or will be when terminating pods are gone, so that
        its other tasks are served later.
        """
        if job.spec.policies or job.spec.topology:
            return DomainSearch(session, job).allocate(pending_tasks)
        if is_known_failure(session, job, pending_tasks):
            return False
        with session.statement() as statement:
            ready = GangPlacer(session, statement, job).run(pending_tasks)
            ready = ready or session.job_ready(job)
            if statement.operations and ready:
                statement.commit()
                return True
            if statement.operations and session.job_pipelined(job):
                statement.keep()
                return waits_for_release_only(session, job)
        remember_failure(session, job)
        return ready
