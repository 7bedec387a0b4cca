"""Users inside queues: the order of waiting jobs in which the users of a queue advance together.

A job's place is the usage of its user after all earlier jobs of that user have started, divided by the user's weight:
what start-time fair queueing calls a start tag. So no decision has to be taken again within a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from operator import sub

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.resources.resources import Amounts
from stromboli.core.model.usage.queue_annotations import USER_WEIGHTS, user_weights_in
from stromboli.core.plugins.fairshare.measure import UsageMeasure
from stromboli.core.session.session import Session

#: Its priority, reversed, its age and key, which order the jobs of a user, and what it adds to the level of the user.
_WaitingJob = tuple[int, float, str, float]


class UserOrder:
    """The order of jobs in queues that several users share."""

    def __init__(self, session: Session, measure: UsageMeasure) -> None:
        #: By key of a waiting job, its place in its queue; queues of one user need none.
        self.places: dict[str, float] = {}
        held, nothing = session.snapshot.held_by_users, [0] * session.snapshot.size
        shared = {
            (name, user): jobs
            for name, users in _waiting_by_user(session, nothing, measure.of_amounts.at).items()
            if len(users) > 1 and name in session.queues
            for user, jobs in users.items()
        }
        weights = {
            name: user_weights(session, session.queues[name]) for name in dict.fromkeys(name for name, _ in shared)
        }
        levels = measure.levels_of_users({where: held.get(where, nothing) for where in shared})
        for ((name, user), jobs), level in zip(shared.items(), levels, strict=True):
            self._place(jobs, level, weights[name].get(user, 1.0))

    def _place(self, jobs: list[_WaitingJob], level: float, weight: float) -> None:
        """Place the jobs of a user, by priority, age and key."""
        jobs.sort()
        places = self.places
        for _, _, key, more in jobs:
            places[key] = level if weight == 1.0 else rank_of(level, weight)
            level += more


def _waiting_by_user(
    session: Session, nothing: Amounts, growth: Callable[[Amounts], float]
) -> Mapping[str, Mapping[str, list[_WaitingJob]]]:
    """Return the waiting jobs by queue and user. Each job is read once, in the order of the snapshot, in which they lie
    in memory: there are thousands. Many in a row request the same.
    """
    found: dict[str, dict[str, list[_WaitingJob]]] = {}
    more, previous = 0.0, nothing
    for job in map(session.jobs.__getitem__, session.snapshot.waiting):
        spec, missing, allocated = job.spec, job.requested, job.allocated
        if allocated != nothing and any(allocated):
            missing = [*map(sub, missing, allocated)]
        if missing != previous:
            more, previous = growth(missing), missing
        users = found.get(spec.queue)
        if users is None:
            users = found[spec.queue] = {}
        jobs = users.get(spec.user)
        if jobs is None:
            jobs = users[spec.user] = []
        jobs.append((-spec.priority, spec.created, spec.key, more))
    return found


def rank_of(level: float, weight: float) -> float:
    """Return usage divided by a weight; of weight 0, the last place."""
    return level / weight if weight else inf


def held_by_users(
    session: Session, jobs: Iterable[Job], queues: Mapping[str, Iterable[str]]
) -> dict[tuple[str, str], list[int]]:
    """Return what these users hold in these queues by these jobs."""
    held = {(name, user): [[0] * session.snapshot.size] for name, users in queues.items() for user in users}
    for job in jobs:
        allocated = job.allocated
        if any(allocated):
            spec = job.spec
            of_user = held.get((spec.queue, spec.user))
            if of_user is not None:
                of_user.append(allocated)
    return {where: [*map(sum, zip(*amounts, strict=True))] for where, amounts in held.items()}


def user_weights(session: Session, queue: Queue) -> dict[str, float]:
    """Return the weights of the annotation of a queue; invalid ones are left out with a warning."""
    weights, problems = user_weights_in(queue.annotations.get(USER_WEIGHTS, ""))
    session.warnings += (
        f"Queue {queue.name}: annotation {USER_WEIGHTS}: {problem}; it is ignored" for problem in problems
    )
    return weights
