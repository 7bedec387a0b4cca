"""Serving jobs beside reservations.

A job that must wait gets a reservation for the capacity it will have once other pods have ended. Jobs that are served
later may take what is free only if they end before that, or leave the reserved capacity alone. A reservation is kept
from cycle to cycle: the job starts on the reserved nodes at the reserved time, or earlier, and elsewhere, if it can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from stromboli.core.actions.allocate.domain_search import DomainSearch
from stromboli.core.actions.allocate.gang_placer import GangPlacer
from stromboli.core.actions.allocate.pending_tasks import PendingTasks
from stromboli.core.model.jobs.carryover import Reservation
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.nodes.amounts import Block
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.values.times import format_timestamp
from stromboli.core.reservations.calendar import Booking, Calendar
from stromboli.core.reservations.earliest_start import EarliestStart
from stromboli.core.reservations.options import BEST_EFFORT, EASY, BackfillArguments
from stromboli.core.session.session import Session
from stromboli.core.session.statement import SavedStatement

AllocateJob = Callable[[Session, Job, PendingTasks], bool]


def reservations_of(session: Session, attempt: AllocateJob) -> ReservationPlacer | None:
    """The reservations of this cycle, if the backfill action has a strategy that needs them."""
    configuration = session.program.configuration
    if "backfill" not in configuration.actions:
        return None
    arguments = configuration.arguments_of("backfill")
    if not isinstance(arguments, BackfillArguments) or arguments.strategy == BEST_EFFORT:
        return None
    max_reservations = 1 if arguments.strategy == EASY else arguments.max_reservations
    return ReservationPlacer(session, attempt, max_reservations)


class ReservationPlacer:
    """Serves jobs in order. At most `max_reservations` jobs have a reservation at a time."""

    def __init__(self, session: Session, attempt: AllocateJob, max_reservations: int) -> None:
        self._session = session
        self._attempt = attempt
        self._max_reservations = max_reservations
        self._calendar = Calendar(session)
        #: The capacity that is currently withheld in the ledger.
        self._withheld: Block | None = None
        for reservation in sorted(session.snapshot.reservations.values(), key=lambda each: (each.start, each.job)):
            booking = self._read(reservation) if reservation.start < np.inf else None
            if booking is not None and self._calendar.fits(booking):
                self._calendar.add(booking)

    def _read(self, reservation: Reservation) -> Booking | None:
        """The reservation of an earlier cycle, if its job still waits with the same tasks and nodes."""
        session = self._session
        job, index = session.jobs.get(reservation.job), session.nodes.index
        places = [(job.tasks.get(uid) if job else None, index.get(node, -1)) for uid, node in reservation.places]
        tasks = [task for task, row in places if task and row >= 0 and session.ledger.is_pending(task)]
        if len(tasks) < len(places):
            return None
        start = max(reservation.start, session.now)
        end = start + reservation.end - reservation.start
        return self._calendar.book(reservation.job, start, end, tasks, [row for _, row in places])

    def serve(self, job: Job, pending_tasks: PendingTasks) -> bool:
        """Place what the job needs next beside other reservations, or reserve for it. True when the job is ready."""
        own, tasks, mark = self._calendar.remove(job.key), pending_tasks.rest, pending_tasks.mark
        run_time = max(task.run_time for task in tasks)
        again = self._serve_beside_others(job, pending_tasks, run_time)
        if self._waits(job) and self._displace_later(job):
            pending_tasks.return_to(mark)
            again = self._serve_beside_others(job, pending_tasks, run_time)
        if self._waits(job) and own is not None and own.start <= self._session.now:
            again = self._take_reserved(job, own, pending_tasks)
        if self._waits(job) and len(self._calendar) and len(self._calendar) < self._max_reservations:
            again = self._start_beside_moved(job, self._search(job, tasks, run_time), pending_tasks) or again
        if self._waits(job):
            self._reserve(job, tasks, run_time, own)
        return again

    def close(self) -> None:
        """Release the withheld capacity: later actions ignore reservations.

        Reservations of jobs that were not served are kept until their start: their queue may be served again. Those
        that were moved after their job was served are written again.
        """
        self._withhold(None)
        decisions, names = self._session.decisions, self._session.nodes.names
        for booking in self._calendar.bookings:
            moved = booking.job in self._calendar.moved or booking.job not in decisions.reservations
            if moved and booking.start > self._session.now:
                decisions.reservations[booking.job] = booking.as_reservation(names)

    def _waits(self, job: Job) -> bool:
        return not (self._session.job_ready(job) or self._session.job_pipelined(job))

    # -- placement beside reservations --------------------------------------------------------------------------

    def _serve_beside_others(self, job: Job, pending_tasks: PendingTasks, run_time: float) -> bool:
        end = self._session.now + run_time
        kept = self._kept_from(pending_tasks.rest, end)
        self._withhold(kept)
        again = self._attempt(self._session, job, pending_tasks)
        if kept is not None and self._waits(job):
            self._explain(job, kept, end)
        return again

    def _kept_from(self, tasks: Sequence[Task], end: float) -> Block | None:
        """The capacity that tasks which run until `end` must not use.

        Amounts do not show conflicts of host ports and anti-affinity: a task with one of these does not use reserved
        nodes at all.
        """
        kept, touched = self._calendar.kept_from(end), [b for b in self._calendar.bookings if b.start < end]
        if not touched or not any(task.task_class.ports or task.task_class.feeds for task in tasks):
            return kept
        self._withhold(None)
        whole = np.zeros_like(touched[0].amounts) if kept is None else kept.copy()
        rows = sorted({row for booking in touched for row in booking.rows})
        whole[:, rows] = np.maximum(whole[:, rows], self._calendar.idle_now()[:, rows])
        return whole

    def _withhold(self, kept: Block | None) -> None:
        if kept is self._withheld:
            return
        if self._withheld is not None:
            self._session.ledger.reserve_capacity(self._withheld, -1)
        if kept is not None:
            self._session.ledger.reserve_capacity(kept)
        self._withheld = kept

    def _explain(self, job: Job, kept: Block, end: float) -> None:
        """Report for which job the capacity is reserved that the job could have had, and until when."""
        refusal = self._session.refusals.get(job.key)
        refused = [task.nodes for task in refusal.tasks.values() if task.nodes] if refusal else []
        held = [rows for nodes in refused for reason, rows in nodes.groups if reason.code is Code.CAPACITY_NOMINATED]
        rows = {row for group in held for row in group.tolist() if kept[:, row].any()}
        for booking in self._calendar.bookings:
            if booking.start < end and not rows.isdisjoint(booking.rows):
                why = "it has no run time" if end == np.inf else f"it would run until {format_timestamp(end)}"
                start = format_timestamp(booking.start)
                detail = f"capacity that it needs is reserved for {booking.job} from {start}, and {why}"
                self._session.refusals.add(
                    job, Reason(Code.CAPACITY_RESERVED, detail, short=f"reserved for {booking.job} from {start}")
                )
                return

    def _displace_later(self, job: Job) -> bool:
        """Remove the reservations of less important jobs of the same queue that were not served yet; the only one there
        can be, of any job that is served later: it belongs to the first job that waits.
        """
        jobs, reserved = self._session.jobs, self._session.decisions.reservations
        is_single = self._max_reservations == 1
        later = [
            booking.job
            for booking in self._calendar.bookings
            if booking.job not in reserved
            and jobs[booking.job].queue == job.queue
            and (is_single or jobs[booking.job].priority < job.priority)
        ]
        if later:
            self._withhold(None)
        for key in later:
            self._calendar.remove(key)
        return bool(later)

    def _take_reserved(self, job: Job, own: Booking, pending_tasks: PendingTasks) -> bool:
        """Start on the reserved nodes, where the usual search found no others."""
        session, search = self._session, self._session.search
        with session.statement() as statement:
            for task, row in zip(own.tasks, own.rows, strict=True):
                allowed = session.allocatable(session.queue_of(job), task.task_class, 1) is None
                if not (allowed and search.accepts(task, row) and search.fits_now(task.task_class, row)):
                    return False
                statement.allocate([task], [row])
            if not session.job_ready(job):
                return False
            statement.commit()
        pending_tasks.drop({task.uid for task in own.tasks})
        session.refusals.pop(job.key, None)
        return True

    def _start_beside_moved(self, job: Job, search: EarliestStart, pending_tasks: PendingTasks) -> bool:
        """Start on nodes that others have reserved, where these find other nodes for the same time."""
        before = list(self._calendar.bookings)
        booking = search.at_once()
        if booking is None:
            return False
        if not self._take_reserved(job, booking, pending_tasks):
            self._calendar.replace(before)
            return False
        return True

    def _search(self, job: Job, tasks: Sequence[Task], run_time: float) -> EarliestStart:
        """Return a search for the job beside the reservations of all others."""
        self._withhold(None)
        self._calendar.update()
        plan = partial(plan_places, self._session, job, tasks)
        return EarliestStart(self._session, self._calendar, job, tasks, run_time, plan)

    # -- reservations -------------------------------------------------------------------------------------------

    def _reserve(self, job: Job, tasks: Sequence[Task], run_time: float, own: Booking | None) -> None:
        """Reserve the earliest capacity for the job, or keep its earlier reservation, if that starts first."""
        calendar, session = self._calendar, self._session
        if len(calendar) >= self._max_reservations:
            return
        making = self._search(job, tasks, run_time)
        keeps = own is not None and own.start > session.now and calendar.fits(own)
        booking = making.earliest(own.start if own and keeps else np.inf)
        if booking is None and own is not None and keeps:
            booking = making.moved(own)
        if booking is None:
            return
        calendar.add(booking)
        session.decisions.reservations[job.key] = booking.as_reservation(session.nodes.names)
        where = len(set(booking.rows))
        start = format_timestamp(booking.start)
        detail = f"capacity on {where} node(s) is reserved for it from {start}"
        session.refusals.add(
            job, Reason(Code.START_RESERVED, detail, short=f"capacity is reserved for it from {start}")
        )


def plan_places(session: Session, job: Job, tasks: Sequence[Task], within: Mask | None) -> SavedStatement | None:
    """The placements of the tasks in a dry run in the current state; a topology is searched on all nodes."""
    if job.spec.policies or job.spec.topology:
        return DomainSearch(session, job).plan(tasks)
    with session.statement() as statement:
        placer = GangPlacer(session, statement, job, within=within)
        enough = placer.run(PendingTasks(tasks)) or session.job_ready(job)
        plan = statement.save() if statement.operations and enough else None
        statement.rollback(0)
    return plan
