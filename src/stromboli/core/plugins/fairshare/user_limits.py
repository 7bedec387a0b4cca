"""Limits of what users and groups of users hold in a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stromboli.core.config.plugin import Allowance
from stromboli.core.model.jobs.job import Job, JobSpec
from stromboli.core.model.queues.queue import Queue, ancestry
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.resources import Amounts, add_amounts, add_request
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.usage.queue_annotations import USER_LIMITS, user_limits_in
from stromboli.core.session.session import Session

#: Every user without a limit of their own; and what names of groups begin with.
_ANY, _GROUP = "*", "@"


@dataclass(slots=True)
class LimitedQueue:
    """Limits by name and resource, and what users and groups hold in the queue and below it."""

    name: str
    limits: Mapping[str, Mapping[int, int]]
    held: dict[str, Amounts] = field(default_factory=dict)


class UserLimits:
    def __init__(self, session: Session, groups: Mapping[str, Sequence[str]]) -> None:
        self._session = session
        self._groups_of: dict[str, list[str]] = {}
        for group, users in groups.items():
            for user in users:
                self._groups_of.setdefault(user, []).append(f"{_GROUP}{group}")
        limited = {
            queue.name: LimitedQueue(queue.name, limits)
            for queue in session.queues.values()
            if (limits := self._limits_of(queue))
        }
        #: By queue, itself and its ancestors, as far as they have limits.
        self._lines = {
            name: [limited[each] for each in ancestry(session.queues, name) if each in limited]
            for name in (session.queues if limited else ())
        }
        for job in session.jobs.values() if limited else ():
            if any(job.allocated):
                for held in self._held_with(job.spec):
                    add_amounts(held, job.allocated)

    def _limits_of(self, queue: Queue) -> dict[str, dict[int, int]]:
        """Return the limits by dimension. Resources that no node or pod names are left out."""
        limits, problems = user_limits_in(queue.annotations.get(USER_LIMITS, ""))
        self._session.warnings += (
            f"Queue {queue.name}: annotation {USER_LIMITS}: {problem}; the limit is ignored" for problem in problems
        )
        find = self._session.axis.find
        return {
            name: {place: amount for each, amount in amounts.items() if (place := find(each)) is not None}
            for name, amounts in limits.items()
        }

    def _limits(self, limited: LimitedQueue, user: str) -> list[tuple[str, Mapping[int, int]]]:
        """Return the limits of a user with the names under which usage counts: their own, and those of their groups."""
        if not user:
            return []
        own = limited.limits.get(user, limited.limits.get(_ANY))
        found = [] if own is None else [(user, own)]
        return found + [
            (name, limited.limits[name]) for name in self._groups_of.get(user, ()) if name in limited.limits
        ]

    def _held(self, limited: LimitedQueue, name: str) -> Amounts:
        held = limited.held.get(name)
        if held is None:
            held = limited.held[name] = [0] * self._session.snapshot.size
        return held

    def count(self, tasks: Sequence[Task], sign: int) -> None:
        """Count placed or removed tasks of one job and class."""
        for held in self._held_with(self._session.jobs[tasks[0].job].spec):
            add_request(held, tasks[0].task_class.request, sign * len(tasks))

    def _held_with(self, spec: JobSpec) -> list[Amounts]:
        """Return what is held under each limit of a job."""
        lines = self._lines.get(spec.queue, ())
        return [self._held(limited, name) for limited in lines for name, _ in self._limits(limited, spec.user)]

    def allowance(self, job: Job | None, queue: Queue, task_class: TaskClass, wanted: int) -> Allowance | None:
        """Return how many of these tasks stay within the limits, and the limit that is reached; None if all do."""
        if job is None:
            return None
        number, tightest = wanted, None
        for limited in self._lines.get(queue.name, ()):
            for name, limits in self._limits(limited, job.spec.user):
                held = self._held(limited, name)
                for dimension, amount in task_class.request:
                    free = limits.get(dimension, held[dimension] + number * amount) - held[dimension]
                    if free < number * amount:
                        number = max(free // amount, 0)
                        tightest = limited.name, name, dimension, limits[dimension], held[dimension]
        return None if tightest is None else Allowance(number, self._reason(*tightest))

    def _reason(self, queue: str, name: str, dimension: int, limit: int, held: int) -> Reason:
        axis = self._session.axis
        holder = f"group {name[1:]}" if name.startswith(_GROUP) else f"user {name}"
        most, has = axis.format(dimension, limit), axis.format(dimension, held)
        detail = f"{holder} may hold {axis.names[dimension]} {most} in queue {queue}, and has {has}"
        return Reason(Code.USER_LIMIT, detail)
