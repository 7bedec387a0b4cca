"""The calendar of a cycle: who will have which room, from when until when.

What is free changes in two ways: it grows when a task ends, and shrinks when a job with a reservation starts. So the
least that is free over some time is found at its beginning and at the starts that fall into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.jobs.reservation import Reservation
from stromboli.core.model.nodes.amounts import Block
from stromboli.core.model.tasks.task import Task
from stromboli.core.reservations.completions import Completions

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


@dataclass(slots=True, eq=False)
class Booking:
    """A reservation, as this cycle reads it."""

    job: str
    start: float
    end: float
    tasks: Sequence[Task]
    rows: Sequence[int]
    #: What its tasks take, by resource and node.
    room: Block
    #: What this booking and the others of the calendar take together when it starts.
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
        #: By job, by how much more or less is free when it starts; forgotten when that may have changed.
        self._at_start: dict[str, Block] = {}
        #: By how many of the bookings count, what must be left alone.
        self._kept_free: dict[int, Block] = {}

    @cached_property
    def completions(self) -> Completions:
        """Looked for when somebody has to wait."""
        return Completions(self._session)

    def __len__(self) -> int:
        return len(self._bookings)

    @property
    def bookings(self) -> Sequence[Booking]:
        """The earliest first."""
        return self._by_start

    def book(self, job: str, start: float, end: float, tasks: Sequence[Task], rows: Sequence[int]) -> Booking:
        """A booking that does not stand in the calendar yet."""
        ledger = self._session.ledger
        room = np.zeros((ledger.layout.resources, len(ledger.nodes)), dtype=np.int64)
        for task, row in zip(tasks, rows, strict=True):
            for dimension, amount in task.task_class.request:
                room[dimension, row] += amount
        return Booking(job, start, end, tasks, rows, room, room)

    def add(self, booking: Booking) -> None:
        booking.taken = booking.room.copy()
        for other in self._by_start:
            if booking.covers(other.start):
                other.taken += booking.room
                self._at_start.pop(other.job, None)
            if other.covers(booking.start):
                booking.taken += other.room
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
                other.taken -= booking.room
                self._at_start.pop(other.job, None)
        self._at_start.pop(job, None)
        self._kept_free = {}
        return booking

    def update(self) -> None:
        """Know what the cycle itself has placed since the last time."""
        if self.completions.update():
            self._at_start, self._kept_free = {}, {}

    # -- what is free when --------------------------------------------------------------------------------------

    def idle_now(self) -> Block:
        """What is free once everything that is being released is gone and every held room is taken."""
        ledger, size = self._session.ledger, self._session.ledger.layout.resources
        books, layout = ledger.books, ledger.layout
        return books[:size] + books[layout.releasing :][:size] - books[layout.pipelined :][:size]

    def change(self, start: float, end: float) -> Block:
        """By how much more, or less, than now is free during all of this time."""
        least = self.completions.freed_by(start)
        for booking in self._by_start:
            if booking.covers(start):
                least = least - booking.room
        for booking in self._by_start:
            if start < booking.start < end:
                least = np.minimum(least, self._change_at_start_of(booking))
        return least

    def _change_at_start_of(self, booking: Booking) -> Block:
        known = self._at_start.get(booking.job)
        if known is None:
            known = self._at_start[booking.job] = self.completions.freed_by(booking.start) - booking.taken
        return known

    def fits(self, booking: Booking) -> bool:
        """Whether the amounts of a booking will be there, beside all others."""
        return bool((self.idle_now() + self.change(booking.start, booking.end) >= booking.room)[booking.room > 0].all())

    def kept_from(self, end: float) -> Block | None:
        """What must be left alone now by somebody who runs until `end`, by resource and node; None when nothing."""
        number = sum(1 for booking in self._by_start if booking.start < end)
        if not number:
            return None
        self.update()
        kept = self._kept_free.get(number)
        if kept is None:
            least = np.minimum.reduce([self._change_at_start_of(booking) for booking in self._by_start[:number]])
            kept = self._kept_free[number] = -np.minimum(least, 0)
        return kept if kept.any() else None
