"""Lost work: what evictions destroy, and victims in the order of it.

A job that is evicted starts again from its last checkpoint. Its lost work is the time since then, multiplied by the
fraction of the cluster that it holds: seconds of the whole cluster. Every recent eviction of the same job counts as one
more loss of that size, so that evictions do not fall on one job again and again.

A preemption may be postponed until victims have written a checkpoint or ended, if that is near. Then victims count with
the least that they lose at any moment until then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.nodes.table import Vector
from stromboli.core.model.resources.resources import PODS, Request
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.preemption.cost import Cost, CostComparison, Grade
from stromboli.core.preemption.history.thrash_guard import Window, evictions_since
from stromboli.core.session.session import Session

#: Capacity that is released and not needed counts as idle for so long.
_IDLE_SECONDS = 60.0
#: Waiting counts as lost work of this part of the time; a preemption is not postponed to save less than a minute.
_WAITING, _MIN_SAVED_SECONDS = 0.1, 60.0
#: A checkpoint that is so near has been written, in spite of errors of rounding.
_CLOCK_STEP = 0.001
_HOLDING = frozenset(status.value for status in (*ALLOCATED_STATUSES, TaskStatus.RELEASING))


class LostWork:
    """The lost work of evictions in this cycle."""

    def __init__(self, session: Session, memory: Window, max_evictions: int, wait: float = 0.0) -> None:
        """Jobs with `max_evictions` recent evictions come after all others of their importance; 0 for no limit. For
        victims that lose less within `wait` seconds, preemptions are postponed.
        """
        self._session = session
        self._wait = wait
        self._max_evictions = max_evictions
        since = session.now - memory.seconds
        self._evictions = Counter(eviction.victim for eviction in evictions_since(session, since))
        self._parts: dict[TaskClass, float] = {}
        self._of_jobs: dict[str, float] = {}

    def order(self, job: Job, task: Task, is_needed: bool) -> tuple[bool, float]:
        """Return the position of a victim among those of equal importance. Without a needed member, a job starts again
        as a whole.
        """
        evictions = self._evictions[job.key]
        lost = self._of_job(job) if is_needed else self._least((task,))
        return 0 < self._max_evictions <= evictions, lost * (1 + evictions)

    def _of_job(self, job: Job) -> float:
        known = self._of_jobs.get(job.key)
        if known is None:
            known = self._of_jobs[job.key] = self._least(self._members(job))
        return known

    def _members(self, job: Job) -> list[Task]:
        codes = self._session.ledger.codes
        return [task for task in job.tasks.values() if codes[task.row] in _HOLDING]

    def _least(self, tasks: Sequence[Task]) -> float:
        """Return the least that these members of a job lose together from now on until the wait is over: nothing, when
        the first of them has written a checkpoint or ended.
        """
        now, part = self._session.now, self._part_of(tasks)
        lost = min((_since_checkpoint(task, now) for task in tasks), default=0.0)
        return part * min(lost, _WAITING * (self._first_moment(tasks) - now))

    def _first_moment(self, tasks: Iterable[Task]) -> float:
        """Return when the first of these tasks has written its next checkpoint or ends; infinite beyond the wait."""
        now, end = self._session.now, self._session.now + self._wait
        moments = [moment for task in tasks for moment in _moments(task, now) if moment <= end] if self._wait else ()
        return min(moments, default=inf)

    def better_moment(self, evicted: Sequence[Task]) -> float | None:
        """Return when these evicted tasks lose less, by enough to wait for it; None if that is now."""
        now, groups = self._session.now, self._groups(evicted)
        moments = sorted({self._first_moment(tasks) for tasks in groups} - {inf})
        if not moments:
            return None
        parts = np.array([self._part_of(tasks) for tasks in groups])
        lost_work, whole = _LostSeconds(groups, now), float(parts.sum())
        lost = {moment: float(parts @ lost_work.at(moment)) + _WAITING * (moment - now) * whole for moment in moments}
        best = min(moments, key=lost.__getitem__)
        return best if lost[best] + _MIN_SAVED_SECONDS * whole < float(parts @ lost_work.at(now)) else None

    def _groups(self, evicted: Sequence[Task]) -> list[list[Task]]:
        """Return tasks that lose their work together: all members of a job that is below its minimum, or one task."""
        groups: list[list[Task]] = []
        for job, tasks in self._by_job(evicted):
            groups += [self._members(job)] if is_needed(job, 0) else [[task] for task in tasks]
        return groups

    def _by_job(self, victims: Sequence[Task]) -> list[tuple[Job, list[Task]]]:
        by_job: dict[str, list[Task]] = {}
        for task in victims:
            by_job.setdefault(task.job, []).append(task)
        return [(self._session.jobs[key], tasks) for key, tasks in by_job.items()]

    def total(self, victims: Sequence[Task]) -> float:
        """Return what is lost with these victims."""
        lost = 0.0
        for job, tasks in self._by_job(victims):
            if is_needed(job, len(tasks)):
                lost += self.order(job, tasks[0], True)[1]
            else:
                lost += sum(self.order(job, task, False)[1] for task in tasks)
        return lost

    def _part_of(self, tasks: Iterable[Task]) -> float:
        return sum(self._part(task.task_class) for task in tasks)

    def _part(self, task_class: TaskClass) -> float:
        """Return the largest fraction of the cluster that a pod of this class holds of any resource."""
        part = self._parts.get(task_class)
        if part is None:
            total = self._session.total
            parts = (amount / total[d] for d, amount in task_class.request if d != PODS and total[d])
            part = self._parts[task_class] = max(parts, default=0.0)
        return part

    def left_behind(self, victims: Sequence[Task], short: Request) -> float:
        """Return the cost of capacity that is released beyond a shortage."""
        released = dict.fromkeys((dimension for dimension, _ in short), 0)
        for task in victims:
            for dimension, amount in task.task_class.request:
                if dimension in released:
                    released[dimension] += amount
        total = self._session.total
        parts = ((released[d] - missing) / total[d] for d, missing in short if d != PODS and total[d])
        return max(parts, default=0.0) * _IDLE_SECONDS


def is_needed(job: Job, evicted: int) -> bool:
    """Report whether a job starts again as a whole without so many members."""
    return job.spec.evicted_whole or job.spare_count < evicted


def _start(task: Task) -> float:
    return task.placed_at or task.created


def _moments(task: Task, now: float) -> Iterator[float]:
    """Yield when the task has written its next checkpoint, and when it ends, unless that is over."""
    start, interval = _start(task), task.checkpoint_interval
    if interval < inf:
        yield now + interval - max(now - start, 0.0) % interval
    if start + task.run_time > now:
        yield start + task.run_time


def _since_checkpoint(task: Task, now: float) -> float:
    running, interval = max(now - _start(task), 0.0), task.checkpoint_interval
    since = running % interval if interval < inf else running
    return min(since, max(now - task.last_checkpoint, 0.0))


class _LostSeconds:
    """The time that each group of tasks loses at a moment: since the last of them started, ended or wrote a checkpoint.

    Groups and moments may be thousands, so that all tasks are evaluated at once.
    """

    def __init__(self, groups: Sequence[Sequence[Task]], now: float) -> None:
        tasks = [task for group in groups for task in group]
        self._now = now
        self._starts, self._intervals, self._ends, self._last = np.array([
            (_start(task), task.checkpoint_interval, _start(task) + task.run_time, task.last_checkpoint)
            for task in tasks
        ]).T  # fmt: skip
        self._firsts = np.cumsum([0, *[len(group) for group in groups[:-1]]])

    def at(self, moment: float) -> Vector:
        """Return the seconds by group."""
        intervals = self._intervals
        since = np.maximum(moment - self._starts, 0.0) % intervals  # an infinite interval leaves what it divides
        lost = np.minimum(since, np.maximum(moment - self._last, 0.0))
        if moment > self._now:
            lost[(intervals - since < _CLOCK_STEP) | ((self._now < self._ends) & (self._ends <= moment))] = 0.0
        return np.minimum.reduceat(lost, self._firsts)


def importance(grade: Grade) -> Grade:
    """The part of a grade that counts before lost work: with it, whether the job was evicted too often."""
    return (*grade[:-1], grade[-1][0]) if grade else ()


def lost_work(grade: Grade) -> float:
    lost: float = grade[-1][1]
    return lost


@dataclass(frozen=True, slots=True)
class LeastLossComparison(CostComparison):
    """By the most important victim, then by the lost work of all, with the capacity that is left behind."""

    lost_work: LostWork

    def cost(self, session: Session, top: Grade, victims: Sequence[Task], short: Request = ()) -> Cost:
        total = self.lost_work.total(victims) + self.lost_work.left_behind(victims, short)
        return importance(top), total, len(victims)

    def could_beat(self, bound: tuple[Grade, int, float, int], best: Cost) -> bool:
        """The lost work of the most important victim is a lower bound of the lost work of all."""
        grade = bound[0]
        return (importance(grade), lost_work(grade) if grade else 0.0) < (best[0], best[1])
