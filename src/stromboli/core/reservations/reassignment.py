"""Other nodes for reservations that begin later, so that a job has nodes for all of its run time.

Reservations name nodes. So a job may find enough capacity at every moment of its run time, but on other nodes each
time. On equal nodes that is never a reason to wait: the job takes what is free when it starts, later reservations take
what is free when they start, in this order, and each finds as many nodes as it needs. Times do not change. Where nodes
or pods differ this may fail, and then nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.nodes.table import Index, Mask
from stromboli.core.model.tasks.task import Task
from stromboli.core.reservations.calendar import Booking, Calendar
from stromboli.core.reservations.copies import copies_on

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

#: After this many attempts in vain the reservations of a cycle keep their nodes.
MAX_FAILURES = 4


def may_move(session: Session, job: Job, tasks: Sequence[Task]) -> bool:
    """Report whether amounts and node facts alone decide where equal tasks of a job run."""
    task_class = tasks[0].task_class
    if job.spec.policies or job.spec.topology or any(task.task_class is not task_class for task in tasks):
        return False
    view = session.search.view(task_class)
    return not (task_class.ports or task_class.feeds or view.row_filters or view.cluster_filters)


def move_others(
    session: Session, calendar: Calendar, job: str, start: float, end: float, tasks: Sequence[Task]
) -> bool:
    """Move later reservations to other nodes so that these tasks fit beside all of them, or leave the calendar as it
    is. Reports whether they fit.
    """
    before = list(calendar.bookings)
    later = [each for each in before if each.start >= start and may_move(session, session.jobs[each.job], each.tasks)]
    if not later or calendar.failed_moves >= MAX_FAILURES:
        return False
    undisturbed = copies_on(session, tasks[0].task_class, calendar.idle_now() + calendar.change(start, end), 1)
    for each in later:
        calendar.remove(each.job)
    wanted = _assigned(session, calendar, job, start, end, tasks, np.flatnonzero(undisturbed))
    fits = wanted is not None and _add_all(session, calendar, wanted, later)
    if fits:
        calendar.remove(job)
        calendar.moved.update(each.job for each in later)
    else:
        calendar.replace(before)
        calendar.failed_moves += 1
    return fits


def _add_all(session: Session, calendar: Calendar, wanted: Booking, later: Sequence[Booking]) -> bool:
    """Add a booking, and then others in the order in which they begin; report whether there were nodes for all."""
    calendar.add(wanted)
    for each in later:
        moved = _assigned(session, calendar, each.job, each.start, each.end, each.tasks, each.rows)
        if moved is None:
            return False
        calendar.add(moved)
    return True


def _assigned(
    session: Session,
    calendar: Calendar,
    job: str,
    start: float,
    end: float,
    tasks: Sequence[Task],
    preferred: Sequence[int] | Index,
) -> Booking | None:
    """Return a booking on nodes that are free for all of this time: on preferred ones, else those that become free
    last.
    """
    free = calendar.idle_now() + calendar.change(start, end)
    others: Mask = np.ones(free.shape[1], dtype=np.bool_)
    others[list(preferred)] = False
    order, number = np.lexsort((-calendar.freed_at(start), others)), len(tasks)
    taken = np.minimum(copies_on(session, tasks[0].task_class, free, number)[order].cumsum(), number)
    if taken[-1] < number:
        return None
    return calendar.book(job, start, end, tasks, np.repeat(order, np.diff(taken, prepend=0)).tolist())
