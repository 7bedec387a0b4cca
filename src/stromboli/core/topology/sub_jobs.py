"""The order in which the sub-jobs of a job are served, and how many tasks each of them needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stromboli.core.model.jobs.job import PENDING_BEST_EFFORT, Job, SubJob

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
