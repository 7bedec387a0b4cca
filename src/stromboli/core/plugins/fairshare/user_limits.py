"""Limits of what users and groups of users hold in a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stromboli.core.config.plugin import Allowance
from stromboli.core.model.jobs.job import Job, JobSpec
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.resources.resources import Amounts, add_amounts, add_request, counts_in_milli
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.session.session import Session

#: The annotation of a queue: `ana: cpu=8, nvidia.com/gpu=4; *: nvidia.com/gpu=2; @vision: nvidia.com/gpu=8`.
USER_LIMITS = "scheduling.stromboli.dev/user-limits"
#: Every user without a limit of their own; and what names of groups begin with.
_ANY, _GROUP = "*", "@"


@dataclass(slots=True)
class LimitedQueue:
    """Limits by name and resource, and what users and groups hold."""

    limits: Mapping[str, Mapping[int, int]]
    held: dict[str, Amounts] = field(default_factory=dict)


class UserLimits:
    def __init__(self, session: Session, groups: Mapping[str, Sequence[str]]) -> None:
        self._session = session
        self._groups_of: dict[str, list[str]] = {}
        for group, users in groups.items():
            for user in users:
                self._groups_of.setdefault(user, []).append(f"{_GROUP}{group}")
        self._queues = {
            queue.name: LimitedQueue(limits) for queue in session.queues.values() if (limits := self._limits_of(queue))
        }
        for job in session.jobs.values() if self._queues else ():
            if any(job.allocated):
                for held in self._held_with(job.spec):
                    add_amounts(held, job.allocated)

    def _limits_of(self, queue: Queue) -> dict[str, dict[int, int]]:
        limits = dict[str, dict[int, int]]()
        for part in filter(None, map(str.strip, queue.annotations.get(USER_LIMITS, "").split(";"))):
            name, _, amounts = part.partition(":")
            try:
                limits[name.strip()] = self._amounts(amounts)
            except ValueError as error:
                self._session.warnings.append(
                    f"Queue {queue.name}: annotation {USER_LIMITS}: {name[:64]}: {error}; the limit is ignored"
                )
        return limits

    def _amounts(self, text: str) -> dict[int, int]:
        """Parse `cpu=8, nvidia.com/gpu=4`. Resources that no node or pod names are left out."""
        amounts = dict[int, int]()
        for part in text.split(","):
            name, separator, amount = (each.strip() for each in part.partition("="))
            if not separator:
                raise ValueError(f"expected resource=amount, got {part.strip()[:64]!r}")
            quantity, dimension = parse_quantity(amount, milli=counts_in_milli(name)), self._session.axis.find(name)
            if dimension is not None:
                amounts[dimension] = quantity
        return amounts

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
        limited = self._queues.get(spec.queue)
        if limited is None:
            return []
        return [self._held(limited, name) for name, _ in self._limits(limited, spec.user)]

    def allowance(self, job: Job | None, queue: Queue, task_class: TaskClass, wanted: int) -> Allowance | None:
        """Return how many of these tasks stay within the limits, and the limit that is reached; None if all do."""
        limited = self._queues.get(queue.name)
        if limited is None or job is None:
            return None
        number, tightest = wanted, None
        for name, limits in self._limits(limited, job.spec.user):
            held = self._held(limited, name)
            for dimension, amount in task_class.request:
                free = limits.get(dimension, held[dimension] + number * amount) - held[dimension]
                if free < number * amount:
                    number, tightest = max(free // amount, 0), (name, dimension, limits[dimension], held[dimension])
        return None if tightest is None else Allowance(number, self._reason(queue, *tightest))

    def _reason(self, queue: Queue, name: str, dimension: int, limit: int, held: int) -> Reason:
        axis = self._session.axis
        holder = f"group {name[1:]}" if name.startswith(_GROUP) else f"user {name}"
        most, has = axis.format(dimension, limit), axis.format(dimension, held)
        detail = f"{holder} may hold {axis.names[dimension]} {most} in queue {queue.name}, and has {has}"
        return Reason(Code.USER_LIMIT, detail)
