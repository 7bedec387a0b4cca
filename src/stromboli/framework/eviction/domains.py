"""Room inside a domain: a job that wants its nodes close together gets them where that costs least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from stromboli.framework.eviction.attempt import Attempt, Part
from stromboli.framework.eviction.comparing import Comparison, Cost
from stromboli.framework.plugin import CLUSTER, Domain
from stromboli.framework.session import Session
from stromboli.framework.statement import Kind
from stromboli.model.job import Job, SubJob

#: So many domains are tried for a job or a sub-job.
MOST_DOMAINS = 8


class Ranked(NamedTuple):
    """A domain, and where it stands among those that cost the same."""

    domain: Domain
    place: tuple[int, float, str]


def has_domains(job: Job) -> bool:
    """Whether plugins are asked where the job may be. As in allocate: one that wants no topology may be anywhere."""
    return bool(job.spec.topology or job.spec.policies)


def domains_of(session: Session, job: Job, most: int = MOST_DOMAINS) -> list[Ranked]:
    """Where the job as a whole may be."""
    if not has_domains(job):
        return [Ranked(CLUSTER, (0, 0.0, ""))]
    return _ranked(session, job, session.gradient_for_job(job, CLUSTER), most)


def domains_of_sub_job(session: Session, sub_job: SubJob, root: Domain) -> list[Ranked]:
    return _ranked(session, sub_job, session.gradient_for_sub_job(sub_job, root), MOST_DOMAINS)


def _ranked(session: Session, subject: Job | SubJob, groups: Sequence[Sequence[Domain]], most: int) -> list[Ranked]:
    """The widest domains come first, as they offer most. Among those that cost the same the closest is preferred."""
    ranked: list[Ranked] = []
    for number in range(len(groups) - 1, -1, -1):
        scores = session.domain_scores(subject, groups[number])
        ordered = sorted(groups[number], key=lambda domain: (-scores[domain.name], domain.name))
        ranked += [Ranked(domain, (number, -scores[domain.name], domain.name)) for domain in ordered]
    return ranked[:most]


def serve_in_cheapest(
    session: Session,
    attempt: Attempt,
    domains: Sequence[Ranked],
    comparison: Comparison,
    serve: Callable[[], bool],
    forget: Callable[[], None],
) -> bool:
    """Serve in each domain and keep what costs least; where none will do, nothing remains.

    `serve` says whether it got there, and `forget` is called whenever what it did was undone.
    """
    home, mark = attempt.domain, attempt.mark
    best: tuple[Cost, tuple[int, float, str], Part] | None = None
    for domain, place in domains:
        attempt.domain = domain
        if serve():
            part = attempt.since(mark)
            cost = _cost(session, part, comparison)
            if best is None or (cost, place) < best[:2]:
                best = cost, place, part
        attempt.return_to(mark)
        forget()
    attempt.domain = home
    if best is not None:
        attempt.redo(best[2])
    return best is not None


def _cost(session: Session, part: Part, comparison: Comparison) -> Cost:
    victims = {each.tasks[0].uid: each.tasks[0] for each in part.plan.operations if each.kind is Kind.EVICT}
    top = max((unit.grade for unit in part.units if unit.tasks[0].uid in victims), default=())
    return comparison.cost(session, top, list(victims.values()))
