"""Preemption between the users of a queue: who holds more than a fair part gives way to who holds less.

What the users of a queue hold is divided among those who want something, by their weights. A pod may be evicted if its
user keeps the fair part without it, and the preemptor's user does not exceed its own with the new pod. So no exchange
can be reversed. The order of users, in which past usage counts, must agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.resources.resources import (
    Amounts,
    add_amounts,
    add_request,
    dense,
    exceeding,
    subtract_amounts,
)
from stromboli.core.model.tasks.task import Task
from stromboli.core.plugins.fairshare.measure import UsageLevel, UsageMeasure
from stromboli.core.plugins.fairshare.user_order import held_by_users, rank_of, user_weights
from stromboli.core.session.session import Session

#: Levels within this factor of each other are equal.
_TOLERANCE = 1 + 1e-9


@dataclass(slots=True)
class QueueUser:
    name: str
    weight: float
    #: What it holds, including nominated capacity.
    held: Amounts
    #: The order of users, as a function of what one holds.
    level: UsageLevel


@dataclass(slots=True)
class SharedQueue:
    users: Mapping[str, QueueUser]
    #: The fair part of a user of weight 1.
    part: float


class UserPreemption:
    """The users of queues in which a preemption was attempted."""

    def __init__(self, session: Session, measure: UsageMeasure) -> None:
        self._session, self._measure = session, measure
        self._queues: dict[str, SharedQueue] = {}
        #: The keys of all jobs by queue: a queue must not cost the jobs of all others.
        self._jobs: dict[str, list[str]] = {}

    def count(self, tasks: Sequence[Task], sign: int) -> None:
        """Count placed or removed tasks of one job and class."""
        if self._queues:
            spec = self._session.jobs[tasks[0].job].spec
            queue = self._queues.get(spec.queue)
            if queue is not None and spec.user in queue.users:
                add_request(queue.users[spec.user].held, tasks[0].task_class.request, sign * len(tasks))

    def victims(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Return the candidates that may be evicted together."""
        job = self._session.jobs[preemptor.job]
        queue = self._queue(job)
        own = queue.users[job.spec.user]
        after = own.held[:]
        add_request(after, preemptor.task_class.request, 1)
        if not own.weight or self._of(after) > own.weight * queue.part * _TOLERANCE:
            return []
        own_place, found, losses = own.level.at(after) / own.weight, list[Task](), _Losses(self._session)
        for task in candidates:
            other = self._session.jobs[task.job]
            if other.spec.user == own.name or other.spec.priority > job.spec.priority:
                continue
            user = queue.users[other.spec.user]
            left = losses.left_without(task, other, user)
            keeps = not user.weight or self._of(left) * _TOLERANCE >= user.weight * queue.part
            if keeps and rank_of(user.level.at(left), user.weight) * _TOLERANCE >= own_place:
                losses.accept(task, other, left)
                found.append(task)
        return found

    def _of(self, amounts: Amounts) -> float:
        return self._measure.of_amounts.at(amounts)

    def _queue(self, job: Job) -> SharedQueue:
        name = job.spec.queue
        known = self._queues.get(name)
        return self._shared(name) if known is None else known

    def _shared(self, name: str) -> SharedQueue:
        session, measure = self._session, self._measure
        requested: dict[str, Amounts] = {}
        jobs = [session.jobs[key] for key in self._jobs_of(name)]
        for job in jobs:
            add_amounts(requested.setdefault(job.spec.user, [0] * session.snapshot.size), job.requested)
        held, weights = held_by_users(session, jobs, {name: requested}), user_weights(session, session.queues[name])
        users = {
            user: QueueUser(
                user,
                weights.get(user, 1.0),
                held[name, user],
                measure.level(measure.fractions(name, measure.of_user(name, user))),
            )
            for user in requested
        }
        wanted = [(self._of(requested[user.name]), user.weight) for user in users.values()]
        total = sum(self._of(user.held) for user in users.values())
        shared = self._queues[name] = SharedQueue(users, _fair_part(total, wanted))
        return shared

    def _jobs_of(self, queue: str) -> Sequence[str]:
        if not self._jobs:
            for key, job in self._session.jobs.items():
                self._jobs.setdefault(job.spec.queue, []).append(key)
        return self._jobs[queue]

    # -- messages -----------------------------------------------------------------------------------------------

    def justification(self, preemptor: Task, victim: Task) -> str:
        own, other = (self._session.jobs[task.job] for task in (preemptor, victim))
        return f"user {_named(other)} holds more than a fair part of queue {own.queue}, and user {_named(own)} less"

    def veto(self, preemptor: Task, victim: Task) -> str:
        own, other = (self._session.jobs[task.job] for task in (preemptor, victim))
        if own.spec.user == other.spec.user:
            return f"it is of the same user {_named(own)}"
        if other.priority > own.priority:
            return f"priority {other.priority} is above {own.priority}"
        return (
            f"without it, user {_named(other)} would hold less than a fair part of queue {own.queue}, or less than "
            f"user {_named(own)} with the new pod"
        )


class _Losses:
    """What users keep without the victims that are accepted so far."""

    def __init__(self, session: Session) -> None:
        self._size = session.snapshot.size
        self._left: dict[str, Amounts] = {}
        #: By job, the number of its victims and what they hold.
        self._of_jobs: dict[str, tuple[int, Amounts]] = {}

    def left_without(self, task: Task, job: Job, user: QueueUser) -> Amounts:
        """Return what the user keeps without the task, and without its gang if that cannot spare the task."""
        left = self._left.get(user.name, user.held)[:]
        subtract_amounts(left, self._more(task, job))
        return left

    def _more(self, task: Task, job: Job) -> Amounts:
        """Return what the job loses besides its earlier victims."""
        taken, lost = self._of_jobs.get(job.key, (0, []))
        if job.spare_count > taken:
            return dense(task.task_class.request, self._size)
        return exceeding(job.allocated, lost) if lost else job.allocated

    def accept(self, task: Task, job: Job, left: Amounts) -> None:
        taken, lost = self._of_jobs.get(job.key, (0, [0] * self._size))
        add_amounts(lost, self._more(task, job))
        self._of_jobs[job.key] = taken + 1, lost
        self._left[job.spec.user] = left


def _named(job: Job) -> str:
    return job.spec.user or "unknown"


def _fair_part(total: float, wanted: Sequence[tuple[float, float]]) -> float:
    """Divide a total by water-filling among demands with weights; return the part of weight 1 of the unsatisfied.
    Demands of weight 0 have no part.
    """
    wanted = [each for each in wanted if each[1]]
    weights = sum(weight for _, weight in wanted)
    for demand, weight in sorted(wanted, key=lambda each: each[0] / each[1]):
        if demand / weight * weights > total:
            break
        total -= demand
        weights -= weight
    return total / weights if weights > 0 else inf
