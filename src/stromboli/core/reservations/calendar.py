"""The calendar of a cycle: which job will have which capacity, from when until when.

Free capacity changes in two ways: it grows when a task ends, and shrinks when a job with a reservation starts. So the
minimum over a period is found at its beginning and at the starts within it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.jobs.carryover import Reservation
from stromboli.core.model.ledger.future import idle_after_releases
from stromboli.core.model.nodes.amounts import Block
from stromboli.core.model.nodes.table import Vector
from stromboli.core.model.tasks.task import Task
from stromboli.core.reservations.completions import Completions

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


@dataclass(slots=True, eq=False)
class Booking:
    """A reservation as read by this cycle."""

    job: str
    start: float
    end: float
    tasks: Sequence[Task]
    rows: Sequence[int]
    #: Amounts of its tasks, by resource and node.
    amounts: Block
    #: Amounts of this booking and the others of the calendar together when it starts.
    taken: Block

    def covers(self, moment: float) -> bool:
        return self.start <= moment < self.end

    def as_reservation(self, names: Sequence[str]) -> Reservation:
        places = tuple((task.uid, names[row]) for task, row in zip(self.tasks, self.rows, strict=True))
        return Reservation(self.job, self.start, self.end, places)


class Calendar:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._bookings: dict[str, Booking] = {}
        self._by_start: list[Booking] = []
        #: Change of free capacity when a job starts, by job; dropped when it may have changed.
        self._at_start: dict[str, Block] = {}
        #: Reserved capacity, by the number of bookings that count.
        self._kept_free: dict[int, Block] = {}
        #: Jobs whose reservation was moved to other nodes in this cycle, and the number of attempts in vain.
        self.moved: set[str] = set()
        self.failed_moves = 0

    @cached_property
    def completions(self) -> Completions:
        """Built when the first job has to wait."""
        return Completions(self._session)

    def __len__(self) -> int:
        return len(self._bookings)

    @property
    def bookings(self) -> Sequence[Booking]:
        """Earliest first."""
        return self._by_start

    def book(self, job: str, start: float, end: float, tasks: Sequence[Task], rows: Sequence[int]) -> Booking:
        """Return a booking without adding it to the calendar."""
        ledger = self._session.ledger
        amounts = np.zeros((ledger.layout.resources, len(ledger.nodes)), dtype=np.int64)
        for task_class in {task.task_class for task in tasks}:
            own = [row for task, row in zip(tasks, rows, strict=True) if task.task_class is task_class]
            copies = np.bincount(own, minlength=len(ledger.nodes))
            for dimension, amount in task_class.request:
                amounts[dimension] += amount * copies
        return Booking(job, start, end, tasks, rows, amounts, amounts)

    def add(self, booking: Booking) -> None:
        booking.taken = booking.amounts.copy()
        for other in self._by_start:
            if booking.covers(other.start):
                other.taken += booking.amounts
                self._at_start.pop(other.job, None)
            if other.covers(booking.start):
                booking.taken += other.amounts
        self._bookings[booking.job] = booking
        self._by_start = sorted(self._bookings.values(), key=lambda each: (each.start, each.job))
        self._kept_free = {}

    def remove(self, job: str) -> Booking | None:
        booking = self._bookings.pop(job, None)
        if booking is None:
            return None
        self._by_start.remove(booking)
        for other in self._by_start:
            if booking.covers(other.start):
                other.taken -= booking.amounts
                self._at_start.pop(other.job, None)
        self._at_start.pop(job, None)
        self._kept_free = {}
        return booking

    def replace(self, bookings: Sequence[Booking]) -> None:
        """Drop all bookings, and add these."""
        self._bookings, self._by_start, self._at_start, self._kept_free = {}, [], {}, {}
        for booking in bookings:
            self.add(booking)

    def update(self) -> None:
        """Add what the cycle itself has placed since the last call."""
        if self.completions.update():
            self._at_start, self._kept_free = {}, {}

    # -- free capacity by time ----------------------------------------------------------------------------------

    def idle_now(self) -> Block:
        return idle_after_releases(self._session.ledger)

    def change(self, start: float, end: float) -> Block:
        """Return the minimum change of free capacity, relative to now, during this period."""
        lowest = self.completions.freed_by(start)
        for booking in self._by_start:
            if booking.covers(start):
                lowest = lowest - booking.amounts
        for booking in self._by_start:
            if start < booking.start < end:
                lowest = np.minimum(lowest, self.change_at_start_of(booking))
        return lowest

    def freed_at(self, moment: float) -> Vector:
        """Return when each node has the capacity that it has at this time; -inf for now."""
        freed = self.completions.last_before(moment)
        for booking in self._by_start:
            if booking.end <= moment:
                rows = list(booking.rows)
                freed[rows] = np.maximum(freed[rows], booking.end)
        return freed

    def change_at_start_of(self, booking: Booking) -> Block:
        """Return the change of free capacity, relative to now, once this and all earlier bookings have started."""
        known = self._at_start.get(booking.job)
        if known is None:
            known = self._at_start[booking.job] = self.completions.freed_by(booking.start) - booking.taken
        return known

    def fits(self, booking: Booking) -> bool:
        """Report whether the amounts of a booking will be available, beside all others."""
        return bool(
            (self.idle_now() + self.change(booking.start, booking.end) >= booking.amounts)[booking.amounts > 0].all()
        )

    def kept_from(self, end: float) -> Block | None:
        """Return what a job that runs until `end` must leave free now, by resource and node; None if nothing."""
        number = sum(1 for booking in self._by_start if booking.start < end)
        if not number:
            return None
        self.update()
        kept = self._kept_free.get(number)
        if kept is None:
            lowest = np.minimum.reduce([self.change_at_start_of(booking) for booking in self._by_start[:number]])
            kept = self._kept_free[number] = -np.minimum(lowest, 0)
        return kept if kept.any() else None
