"""Search for the earliest time at which a pending job fits, with every rule about nodes.

At that time often more nodes are free than the job needs. The reservation takes those that become free last, so that
nodes which are free earlier stay available to other jobs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.future import projected
from stromboli.core.model.nodes.amounts import Block
from stromboli.core.model.nodes.table import Index, Mask
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.reservations.calendar import Booking, Calendar
from stromboli.core.reservations.copies import copies_on
from stromboli.core.reservations.reassignment import may_move, move_others
from stromboli.core.session.statement import SavedStatement

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

#: After this many times with enough capacity but no placement, the steps grow.
_MAX_FAILED_TRIALS = 8


class EarliestStart:
    """The search for one job's reservation. `plan` tries to place the job on some nodes, or on any, in the current
    ledger and leaves no trace.
    """

    def __init__(
        self,
        session: Session,
        calendar: Calendar,
        job: Job,
        tasks: Sequence[Task],
        run_time: float,
        plan: Callable[[Mask | None], SavedStatement | None],
    ) -> None:
        self._session = session
        self._calendar = calendar
        self._job = job
        self._tasks = tasks
        self._run_time = run_time
        self._plan = plan
        self._needed = session.tasks_until_ready(job)
        self._classes = Counter(task.task_class for task in tasks)
        #: Whether there is enough capacity when another job starts, by that job.
        self._enough_at: dict[str, bool] = {}

    def earliest(self, before: float) -> Booking | None:
        """Return the first booking that fits, if there is one before `before`."""
        moments = [moment for moment in self._moments() if moment < before]
        idle = self._calendar.idle_now()
        index = bisect_left(moments, True, key=lambda t: self._may_fit(idle + self._calendar.completions.freed_by(t)))
        tries, step = 0, 1
        if index < len(moments) - 1 and not self._lacks_nodes and self._try_at(moments[-1], idle) is None:
            return None
        while index < len(moments):
            moment = moments[index]
            if not self._is_enough_from(moment, idle):
                index += 1
                continue
            if not self._may_fit(idle + self._calendar.change(moment, moment + self._run_time)):
                if booking := self._try_beside_moved(moment, idle):
                    return booking
                index += 1
                continue
            if booking := self._try_at(moment, idle):
                return booking
            tries += 1
            step *= 1 if tries < _MAX_FAILED_TRIALS else 2
            index = min(index + step, max(index + 1, len(moments) - 1))
        return None

    def at_once(self) -> Booking | None:
        """Return a booking from now on, which other reservations only allow on other nodes than theirs."""
        idle = self._calendar.idle_now()
        if self._lacks_nodes and self._is_enough_from(self._session.now, idle):
            return self._try_beside_moved(self._session.now, idle)
        return None

    def _moments(self) -> Sequence[float]:
        """Return the times at which there is more capacity than before."""
        ends = {booking.end for booking in self._calendar.bookings if booking.end < np.inf}
        return sorted({*self._calendar.completions.moments(), *ends}) if ends else self._calendar.completions.moments()

    def moved(self, own: Booking) -> Booking:
        """Return a booking for the same time on the nodes that become free last, which may be others than before."""
        idle = self._calendar.idle_now()
        last = self._freed_last(own.start, idle + self._calendar.change(own.start, own.end), idle)
        return own if last[list(own.rows)].all() else self._try_at(own.start, idle) or own

    def _may_fit(self, free: Block) -> bool:
        """Report whether there is enough capacity for the tasks by amounts. Rules may still refuse."""
        found = 0
        for task_class, number in self._classes.items():
            found += min(number, int(self._copies(task_class, free).sum()))
            if found >= self._needed:
                return True
        return False

    def _is_enough_from(self, moment: float, idle: Block) -> bool:
        """Report whether there is enough capacity at all times of the run, if need be on other nodes each time."""
        for other in self._calendar.bookings:
            if moment < other.start < moment + self._run_time:
                if other.job not in self._enough_at:
                    change = self._calendar.change_at_start_of(other)
                    self._enough_at[other.job] = self._may_fit(idle + change)
                if not self._enough_at[other.job]:
                    return False
        return self._may_fit(idle + self._calendar.change(moment, moment))

    def _copies(self, task_class: TaskClass, free: Block) -> Index:
        return copies_on(self._session, task_class, free, len(self._tasks))

    def _freed_last(self, moment: float, free: Block, idle: Block) -> Mask:
        """Return as many nodes as the tasks need by amounts: those that become free last, and among these the ones
        that have the least capacity for the tasks now.
        """
        now = np.sum([self._copies(task_class, idle) for task_class in self._classes], axis=0)
        order = np.lexsort((now, -self._calendar.freed_at(moment)))
        found = np.zeros(len(order), dtype=np.int64)
        for task_class, number in self._classes.items():
            found += np.minimum(self._copies(task_class, free)[order].cumsum(), number)
        chosen: Mask = np.zeros(len(order), dtype=np.bool_)
        chosen[order[: int(np.searchsorted(found, self._needed)) + 1]] = True
        return chosen

    def _candidates(self, moment: float, free: Block, idle: Block) -> Iterator[Mask | None]:
        """Yield the nodes to try. A topology chooses its domain among all nodes."""
        if not (self._job.spec.policies or self._job.spec.topology):
            yield self._freed_last(moment, free, idle)
        yield None

    @property
    def _lacks_nodes(self) -> bool:
        """Report whether some task found no node just now, and does not wait for its queue or a quota only."""
        refusal = self._session.refusals.get(self._job.key)
        return refusal is not None and any(task.nodes is not None for task in refusal.tasks.values())

    def _try_beside_moved(self, moment: float, idle: Block) -> Booking | None:
        """Return a booking at this time after moving reservations that begin later to other nodes, if that helps."""
        calendar, session = self._calendar, self._session
        if not len(calendar) or not may_move(session, self._job, self._tasks):
            return None
        before, needed = list(calendar.bookings), self._tasks[: self._needed]
        if not move_others(session, calendar, self._job.key, moment, moment + self._run_time, needed):
            return None
        booking = self._try_at(moment, idle)
        if booking is None:
            calendar.replace(before)
        return booking

    def _try_at(self, moment: float, idle: Block) -> Booking | None:
        calendar, session = self._calendar, self._session
        free = idle + calendar.change(moment, moment + self._run_time)
        completions = calendar.completions
        later = projected(session.ledger, free, completions.absent_by(moment), completions.released_by(moment))
        with later, session.refusals.discarded(self._job):
            plan = next(filter(None, map(self._plan, self._candidates(moment, free, idle))), None)
        if plan is None:
            return None
        tasks = [task for operation in plan.operations for task in operation.tasks]
        rows = [row for operation in plan.operations for row in operation.rows]
        return calendar.book(self._job.key, moment, moment + self._run_time, tasks, rows)
