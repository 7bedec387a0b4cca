"""Sub-jobs and single tasks of a job: the order of service, how many tasks are needed, and the allowed domains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from stromboli.core.config.plugin import CLUSTER, Domain
from stromboli.core.model.jobs.job import PENDING_BEST_EFFORT, Job, SubJob
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.tasks.task import Task

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


def sub_jobs_by_need(session: Session, job: Job, has_enough: Callable[[Job, SubJob], bool]) -> list[SubJob]:
    """Return the sub-jobs needed for the minimum of their group first, then the others."""
    done = {key for key, sub_job in job.sub_jobs.items() if has_enough(job, sub_job)}
    ordered = sorted(job.sub_jobs.values(), key=session.sub_job_order_key)
    missing = {
        policy.name: policy.minimum - sum(1 for sub_job in job.sub_jobs_of(policy) if sub_job.key in done)
        for policy in job.spec.policies
    }
    needed: list[SubJob] = []
    others: list[SubJob] = []
    for sub_job in ordered:
        group = sub_job.policy.name if sub_job.policy else ""
        is_needed = sub_job.key not in done and missing.get(group, 0) > 0
        if is_needed:
            missing[group] -= 1
        (needed if is_needed else others).append(sub_job)
    return needed + others


def needed_by(session: Session, sub_job: SubJob) -> int:
    """Return how many of its tasks must be placed: one, unless a plugin enforces sub-job minimums."""
    flat = session.program.flat
    if not (flat["sub_job_ready"] and flat["sub_job_pipelined"]):
        return 1
    return max(1, sub_job.min_available - sub_job.ready_count - sub_job.counts[PENDING_BEST_EFFORT])


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
