"""Jobs as rows, after the cycles of a plan, in the order of its policy."""

from __future__ import annotations

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import shortened_line
from stromboli.planner.overview.job_list import JobEntry, with_positions
from stromboli.planner.plan import GroupPlan, SchedulingPlan
from stromboli.workloads.groups import title_of

_NOT_CONSIDERED = "not considered in this cycle"


def planned_jobs(plan: SchedulingPlan) -> list[JobEntry]:
    """Return the jobs with their states at the end of the plan."""
    session = plan.session
    entries = [_planned(plan, group, session.jobs[key]) for key, group in plan.groups.items() if key in session.jobs]
    entries.sort(key=lambda entry: (entry.namespace, entry.name, entry.key))
    return with_positions(entries, lambda entry: session.job_order_key(session.jobs[entry.key]))


def _planned(plan: SchedulingPlan, group: GroupPlan, job: Job) -> JobEntry:
    source = plan.pod_groups.get(job.key)
    return JobEntry(
        key=job.key,
        namespace=job.spec.namespace,
        name=job.spec.name if source is None else title_of(source),
        queue=group.queue,
        phase=group.phase,
        ready=group.ready,
        minimum=group.min_member,
        priority=job.priority,
        reason=shortened_line(group.summary or _NOT_CONSIDERED) if group.waiting else "",
        created=job.spec.created,
        labels={} if source is None else source.metadata.labels or {},
    )
