"""Search for the earliest time at which a pending job fits, with every rule about nodes."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.future import projected
from stromboli.core.model.nodes.amounts import Block
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.reservations.calendar import Booking, Calendar
from stromboli.core.session.statement import SavedStatement

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

#: After this many times with enough capacity but no placement, the steps grow.
_MAX_FAILED_TRIALS = 8


class EarliestStart:
    """The search for one job's reservation. `plan` tries to place the job in the current ledger and leaves no trace."""

    def __init__(
        self,
        session: Session,
        calendar: Calendar,
        job: Job,
        tasks: Sequence[Task],
        run_time: float,
        plan: Callable[[], SavedStatement | None],
    ) -> None:
        self._session = session
        self._calendar = calendar
        self._job = job
        self._tasks = tasks
        self._run_time = run_time
        self._plan = plan
        self._needed = session.tasks_until_ready(job)
        self._classes = Counter(task.task_class for task in tasks)

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
            if not self._may_fit(idle + self._calendar.change(moment, moment + self._run_time)):
                index += 1
                continue
            if booking := self._try_at(moment, idle):
                return booking
            tries += 1
            step *= 1 if tries < _MAX_FAILED_TRIALS else 2
            index = min(index + step, max(index + 1, len(moments) - 1))
        return None

    def _moments(self) -> Sequence[float]:
        """Return the times at which there is more capacity than before."""
        ends = {booking.end for booking in self._calendar.bookings if booking.end < np.inf}
        return sorted({*self._calendar.completions.moments(), *ends}) if ends else self._calendar.completions.moments()

    def _may_fit(self, free: Block) -> bool:
        """Report whether there is enough capacity for the tasks by amounts. Rules may still refuse."""
        found = 0
        for task_class, number in self._classes.items():
            found += min(number, self._copies(task_class, free))
            if found >= self._needed:
                return True
        return False

    def _copies(self, task_class: TaskClass, free: Block) -> int:
        """Return how many tasks of a class the accepted nodes could take."""
        admitted = self._session.search.view(task_class).static.admitted
        copies = np.full(len(admitted), len(self._tasks))
        for dimension, amount in task_class.request:
            if amount:
                np.minimum(copies, free[dimension] // amount, out=copies)
        return int(copies[admitted & (copies > 0)].sum())

    @property
    def _lacks_nodes(self) -> bool:
        """Report whether some task found no node just now, and does not wait for its queue or a quota only."""
        refusal = self._session.refusals.get(self._job.key)
        return refusal is not None and any(task.nodes is not None for task in refusal.tasks.values())

    def _try_at(self, moment: float, idle: Block) -> Booking | None:
        calendar, session = self._calendar, self._session
        free = idle + calendar.change(moment, moment + self._run_time)
        completions = calendar.completions
        later = projected(session.ledger, free, completions.absent_by(moment), completions.released_by(moment))
        with later, self._unspoken():
            plan = self._plan()
        if plan is None:
            return None
        tasks = [task for operation in plan.operations for task in operation.tasks]
        rows = [row for operation in plan.operations for row in operation.rows]
        return calendar.book(self._job.key, moment, moment + self._run_time, tasks, rows)

    @contextmanager
    def _unspoken(self) -> Iterator[None]:
        """Discard refusals made inside the block."""
        session, key = self._session, self._job.key
        refusal, transactions = session.refusals.pop(key, None), dict(session.refusals.last_transactions)
        try:
            yield
        finally:
            session.refusals.pop(key, None)
            if refusal is not None:
                session.refusals[key] = refusal
            session.refusals.last_transactions = transactions
