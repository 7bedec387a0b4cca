"""Domains for a single task of a job, for actions that place tasks one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from stromboli.core.config.plugin import CLUSTER, Domain
from stromboli.core.model.jobs.job import Job, SubJob
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.tasks.task import Task

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


def has_topology_constraints(job: Job) -> bool:
    return job.spec.topology is not None or any(policy.topology for policy in job.spec.policies)


def domains_of(session: Session, job: Job, task: Task) -> Iterator[Mask | None]:
    """Yield the nodes of the domains allowed for the task's job and sub-job, best first; None for all nodes.

    Placed tasks restrict the others, so this is computed again for each task.
    """
    if not has_topology_constraints(job):
        yield None
        return
    sub_job = job.sub_jobs.get(task.sub_job)
    for domain in _in_order(session, job, session.gradient_for_job(job, CLUSTER)):
        parts = [[domain]] if sub_job is None else session.gradient_for_sub_job(sub_job, domain)
        for part in _in_order(session, sub_job or job, parts):
            yield part.inside


def _in_order(session: Session, subject: Job | SubJob, groups: Sequence[Sequence[Domain]]) -> Iterator[Domain]:
    for group in groups:
        scores = session.domain_scores(subject, group) if len(group) > 1 else {}
        yield from sorted(group, key=lambda domain: (-scores.get(domain.name, 0.0), domain.name))
