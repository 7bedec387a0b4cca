"""Lost work: what evictions destroy, and victims in the order of it.

A job that is evicted starts again from its last checkpoint. Its lost work is the time since then, multiplied by the
fraction of the cluster that it holds: seconds of the whole cluster. Every recent eviction of the same job counts as one
more loss of that size, so that evictions do not fall on one job again and again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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
_HOLDING = frozenset(status.value for status in (*ALLOCATED_STATUSES, TaskStatus.RELEASING))


class LostWork:
    """The lost work of evictions in this cycle."""

    def __init__(self, session: Session, memory: Window, max_evictions: int) -> None:
        """Jobs with `max_evictions` recent evictions come after all others of their importance; 0 for no limit."""
        self._session = session
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
        lost = self._of_job(job) if is_needed else self._of_task(task)
        return 0 < self._max_evictions <= evictions, lost * (1 + evictions)

    def _of_job(self, job: Job) -> float:
        known = self._of_jobs.get(job.key)
        if known is None:
            codes = self._session.ledger.codes
            tasks = [task for task in job.tasks.values() if codes[task.row] in _HOLDING]
            part = sum(self._part(task.task_class) for task in tasks)
            known = self._of_jobs[job.key] = part * min((self._since_checkpoint(task) for task in tasks), default=0.0)
        return known

    def _of_task(self, task: Task) -> float:
        return self._part(task.task_class) * self._since_checkpoint(task)

    def _since_checkpoint(self, task: Task) -> float:
        now = self._session.now
        running = max(now - (task.placed_at or task.created), 0.0)
        since = running % task.checkpoint_interval if task.checkpoint_interval < inf else running
        return min(since, max(now - task.last_checkpoint, 0.0))

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
        jobs, total = dict.fromkeys(task.job for task in victims), 0.0
        for key in jobs:
            job, of_job = session.jobs[key], [task for task in victims if task.job == key]
            is_needed = job.spec.evicted_whole or job.spare_count < len(of_job)
            members = of_job[:1] if is_needed else of_job
            total += sum(self.lost_work.order(job, task, is_needed)[1] for task in members)
        return importance(top), total + self.lost_work.left_behind(victims, short), len(victims)

    def could_beat(self, bound: tuple[Grade, int, float, int], best: Cost) -> bool:
        """The lost work of the most important victim is a lower bound of the lost work of all."""
        grade = bound[0]
        return (importance(grade), lost_work(grade) if grade else 0.0) < (best[0], best[1])
