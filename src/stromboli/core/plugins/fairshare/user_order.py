"""Users inside queues: the order of waiting jobs in which the users of a queue advance together.

A job's place is the usage of its user after all earlier jobs of that user have started, divided by the user's weight:
what start-time fair queueing calls a start tag. So no decision has to be taken again within a cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from operator import sub

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.usage.queue_annotations import USER_WEIGHTS, user_weights_in
from stromboli.core.plugins.fairshare.measure import UsageMeasure
from stromboli.core.session.session import Session


class UserOrder:
    def __init__(self, session: Session, measure: UsageMeasure) -> None:
        self._measure = measure
        #: By key of a waiting job, its place in its queue; queues of one user need none.
        self.places: dict[str, float] = {}
        waiting: dict[str, dict[str, list[Job]]] = {}
        for job in map(session.jobs.__getitem__, session.snapshot.waiting):
            spec = job.spec
            waiting.setdefault(spec.queue, {}).setdefault(spec.user, []).append(job)
        shared = {queue: users for queue, users in waiting.items() if queue in session.queues and len(users) > 1}
        allocated = held_by_users(session, shared) if shared else {}
        for name, users in shared.items():
            weights = user_weights(session, session.queues[name])
            for user, jobs in users.items():
                level = measure.level(measure.fractions(name, measure.of_user(name, user)))
                self._place(jobs, level.at(allocated[name, user]), weights.get(user, 1.0))

    def _place(self, jobs: list[Job], level: float, weight: float) -> None:
        jobs.sort(key=_age)
        known, places = dict[tuple[int, ...], float](), self.places
        for job in jobs:
            places[job.spec.key] = rank_of(level, weight)
            allocated = job.allocated
            missing = tuple(map(sub, job.requested, allocated) if any(allocated) else job.requested)
            more = known.get(missing)
            if more is None:
                more = known[missing] = self._measure.of_amounts(missing)
            level += more


def rank_of(level: float, weight: float) -> float:
    """Return usage divided by a weight; of weight 0, the last place."""
    return level / weight if weight else inf


def held_by_users(session: Session, queues: Mapping[str, Iterable[str]]) -> dict[tuple[str, str], list[int]]:
    """Return what these users hold in these queues."""
    held = {(name, user): [[0] * session.snapshot.size] for name, users in queues.items() for user in users}
    for job in session.jobs.values():
        if any(job.allocated):
            of_user = held.get((job.spec.queue, job.spec.user))
            if of_user is not None:
                of_user.append(job.allocated)
    return {where: [sum(column) for column in zip(*amounts, strict=True)] for where, amounts in held.items()}


def user_weights(session: Session, queue: Queue) -> dict[str, float]:
    """Return the weights of the annotation of a queue; invalid ones are left out with a warning."""
    weights, problems = user_weights_in(queue.annotations.get(USER_WEIGHTS, ""))
    session.warnings += (
        f"Queue {queue.name}: annotation {USER_WEIGHTS}: {problem}; it is ignored" for problem in problems
    )
    return weights


def _age(job: Job) -> tuple[int, float, str]:
    spec = job.spec
    return -spec.priority, spec.created, spec.key
