"""Preemption inside a domain: a job with a network topology preempts where that is cheapest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stromboli.core.config.plugin import CLUSTER, Domain
from stromboli.core.model.jobs.job import Job, SubJob
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.attempt import AttemptPlan, PreemptionAttempt
from stromboli.core.preemption.candidates import CandidatePool
from stromboli.core.preemption.cost import Cost, CostComparison
from stromboli.core.session.session import Session
from stromboli.core.session.statement import OperationKind
from stromboli.core.topology.sub_jobs import needed_by

#: The number of suitable domains to compare for a job or a sub-job.
MAX_DOMAINS = 8
#: The number of unsuitable domains that may be tried for each of them.
_TRIES = 8
#: The whole cluster as a domain; its current free capacity does not limit it.
_ROOT = replace(CLUSTER, evictions_allowed_inside=True)


class RankedDomain(NamedTuple):
    """A domain, and its position among those of equal cost."""

    domain: Domain
    place: tuple[int, float, str]


def has_domains(job: Job) -> bool:
    """Report whether plugins limit the domains of the job; as in allocate, one without a topology may use any node."""
    return bool(job.spec.topology or job.spec.policies)


def need_key(job: Job, tasks: Sequence[Task], *, is_own: bool) -> tuple[object, ...]:
    """A key by which jobs of equal needs get equal results; with `is_own`, each job has its own."""
    classes = tuple(
        sorted({(task.task_class.number, task.priority, task.priority_in_job, task.never_preempts) for task in tasks})
    )
    own = job.key if is_own or has_domains(job) else ""
    return job.queue, job.priority, tuple(job.allocated), classes, own


class DomainRanking:
    """The domains of jobs that would have enough capacity without all candidates."""

    def __init__(self, session: Session, pool: CandidatePool, max_domains: int = MAX_DOMAINS) -> None:
        self._session = session
        self._pool = pool
        self.max_domains = max_domains

    def of_job(self, job: Job, tasks: Sequence[Task]) -> list[RankedDomain]:
        if not has_domains(job):
            return [RankedDomain(CLUSTER, (0, 0.0, ""))]
        groups = self._session.gradient_for_job(job, _ROOT)
        return self._ranked(job, groups, job, tasks, self._session.tasks_until_ready(job))

    def of_sub_job(self, sub_job: SubJob, root: Domain, tasks: Sequence[Task]) -> list[RankedDomain]:
        groups = self._session.gradient_for_sub_job(sub_job, root)
        job = self._session.jobs[sub_job.job]
        return self._ranked(sub_job, groups, job, tasks, needed_by(self._session, sub_job))

    def _ranked(
        self, subject: Job | SubJob, groups: Sequence[Sequence[Domain]], job: Job, tasks: Sequence[Task], needed: int
    ) -> list[RankedDomain]:
        """The widest domains come first, as they offer most. Among equal costs the closest is preferred."""
        places, needed = self._places(job, tasks), min(needed, len(tasks))
        ranked: list[RankedDomain] = []
        for number in range(len(groups) - 1, -1, -1):
            fitting = [each for each in groups[number] if _inside(places, each).sum() >= needed]
            self._session.measurements.domains_passed_over += len(groups[number]) - len(fitting)
            scores = self._session.domain_scores(subject, fitting) if fitting else {}
            ordered = sorted(fitting, key=lambda domain: (-scores[domain.name], domain.name))
            ranked += [RankedDomain(domain, (number, -scores[domain.name], domain.name)) for domain in ordered]
        return ranked[: self.max_domains * _TRIES]

    def _places(self, job: Job, tasks: Sequence[Task]) -> NDArray[np.int64]:
        """Return how many tasks with the smallest of these requests each node would take, at most."""
        session, classes = self._session, {task.task_class.number: task.task_class for task in tasks}.values()
        requests = [dict(task_class.request) for task_class in classes]
        smallest = {d: min(each[d] for each in requests) for d in requests[0] if all(d in each for each in requests)}
        admitted = np.zeros(len(session.nodes), dtype=np.bool_)
        for task_class in classes:
            admitted |= session.search.view(task_class).static.admitted
        places = np.where(admitted, np.int64(len(tasks)), 0)
        releasable = self._pool.releasable(job, list(smallest))
        for held, (dimension, amount) in zip(releasable, smallest.items(), strict=True):
            capacity = session.ledger.all_rows.future_idle(dimension) + held
            places = np.minimum(places, np.maximum(capacity, 0) // amount)
        return places


def _inside(places: NDArray[np.int64], domain: Domain) -> NDArray[np.int64]:
    return places if domain.inside is None else places[domain.inside]


def place_in_cheapest(
    session: Session,
    attempt: PreemptionAttempt,
    domains: Sequence[RankedDomain],
    max_domains: int,
    comparison: CostComparison,
    serve: Callable[[], bool],
    forget: Callable[[], None],
) -> bool:
    """Serve until `max_domains` domains are suitable, and keep the cheapest plan. `forget` follows each rollback."""
    outer, mark = attempt.domain, attempt.mark
    best: tuple[Cost, tuple[int, float, str], AttemptPlan] | None = None
    for domain, place in domains:
        if not max_domains:
            break
        attempt.domain = domain
        session.measurements.domains_tried += 1
        if serve():
            max_domains -= 1
            part = attempt.since(mark)
            cost = _cost(session, part, comparison)
            if best is None or (cost, place) < best[:2]:
                best = cost, place, part
        attempt.return_to(mark)
        forget()
    attempt.domain = outer
    if best is not None:
        attempt.redo(best[2])
    return best is not None


def _cost(session: Session, part: AttemptPlan, comparison: CostComparison) -> Cost:
    victims = {each.tasks[0].uid: each.tasks[0] for each in part.plan.operations if each.kind is OperationKind.EVICT}
    top = max((unit.grade for unit in part.units if unit.tasks[0].uid in victims), default=())
    return comparison.cost(session, top, list(victims.values()))
