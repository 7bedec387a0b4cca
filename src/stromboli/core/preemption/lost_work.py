"""Lost work: what evictions destroy, and victims in the order of it.

A job that is evicted starts again from its last checkpoint. Its lost work is the time since then, multiplied by the
fraction of the cluster that it holds: seconds of the whole cluster. Every recent eviction of the same job counts as one
more loss of that size, so that evictions do not fall on one job again and again.

A preemption may be postponed until victims have written a checkpoint or ended, if that is near. Then victims count with
the least that they lose at any moment until then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from stromboli.core.model.jobs.job import Job
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
        """Return the least that these members of a job lose together from now on until the wait is over."""
        now, part = self._session.now, self._part_of(tasks)
        moments = self._moments(tasks) if self._wait else ()
        return part * min([_lost_seconds(tasks, now, now), *(_with_waiting(tasks, now, each) for each in moments)])

    def _moments(self, tasks: Iterable[Task]) -> set[float]:
        """Return when one of these tasks has written its next checkpoint or ends, within the wait."""
        now, found = self._session.now, set[float]()
        for task in tasks:
            began = _start(task)
            if task.checkpoint_interval < inf:
                found.add(now + task.checkpoint_interval - max(now - began, 0.0) % task.checkpoint_interval)
            found.add(began + task.run_time)
        return {moment for moment in found if now < moment <= now + self._wait}

    def better_moment(self, victims: Sequence[Task]) -> float | None:
        """Return when these victims lose less, by enough to wait for it; None if that is now."""
        if not self._wait or not victims:
            return None
        now, of_jobs = self._session.now, [self._lost_with(job, tasks) for job, tasks in self._by_job(victims)]
        parts = [self._part_of(tasks) for tasks in of_jobs]
        moments = sorted(self._moments(task for tasks in of_jobs for task in tasks))

        def lost(moment: float) -> float:
            return sum(part * _with_waiting(tasks, now, moment) for part, tasks in zip(parts, of_jobs, strict=True))

        best = min(moments, key=lost, default=now)
        return best if lost(best) + _MIN_SAVED_SECONDS * sum(parts) < lost(now) else None

    def _by_job(self, victims: Sequence[Task]) -> list[tuple[Job, list[Task]]]:
        by_job: dict[str, list[Task]] = {}
        for task in victims:
            by_job.setdefault(task.job, []).append(task)
        return [(self._session.jobs[key], tasks) for key, tasks in by_job.items()]

    def _lost_with(self, job: Job, victims: list[Task]) -> list[Task]:
        """Return the members of a job that lose their work with these victims: all of them, if a needed one is lost."""
        return self._members(job) if is_needed(job, len(victims)) else victims

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


def _lost_seconds(tasks: Iterable[Task], now: float, moment: float) -> float:
    """Return the time that members of a job lose at a moment: since the last of them started or wrote a checkpoint."""
    return min((_since_checkpoint(task, now, moment) for task in tasks), default=0.0)


def _since_checkpoint(task: Task, now: float, moment: float) -> float:
    running, interval = max(moment - _start(task), 0.0), task.checkpoint_interval
    since = running % interval if interval < inf else running
    if moment > now and (interval - since < _CLOCK_STEP or now < _start(task) + task.run_time <= moment):
        return 0.0
    return min(since, max(moment - task.last_checkpoint, 0.0))


def _with_waiting(tasks: Iterable[Task], now: float, moment: float) -> float:
    return _lost_seconds(tasks, now, moment) + _WAITING * (moment - now)


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
