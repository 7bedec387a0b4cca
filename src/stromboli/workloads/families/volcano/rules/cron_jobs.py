"""The rules for Volcano's CronJobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stromboli.workloads.cron.schedules import parse_schedule, time_zone
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.created_jobs import job_of_cron_job
from stromboli.workloads.families.volcano.rules.findings import Rule, RuleFinding, below, findings_by
from stromboli.workloads.families.volcano.rules.jobs import job_findings
from stromboli.workloads.families.volcano.rules.names import MAX_LABEL, SUBDOMAIN_REMEDY, subdomain_problem

#: What the controller appends to the name: a hyphen, and the minutes since 1970.
_SUFFIX = "-00000000"
_CONCURRENCY = ("", "Allow", "Forbid", "Replace")


def cron_job_findings(cron_job: WorkloadDocument, further: Sequence[Rule] = ()) -> list[RuleFinding]:
    """Return what is wrong with a CronJob, including the template of its Jobs."""
    name = cron_job.text("metadata.name")
    job = job_of_cron_job(cron_job, f"{name}{_SUFFIX}" if _is_short(name) else "job")
    return [*findings_by(CRON_JOB_RULES, cron_job), *below("spec.jobTemplate", job_findings(job, further))]


def name_is_short(cron_job: WorkloadDocument) -> Iterator[RuleFinding]:
    name = cron_job.text("metadata.name")
    if name and not _is_short(name):
        message = f"is longer than {MAX_LABEL - len(_SUFFIX)} characters, and names of its jobs would be too long"
        yield RuleFinding("metadata.name", message, "write a shorter name")
    elif name and (problem := subdomain_problem(name)):
        yield RuleFinding("metadata.name", problem, SUBDOMAIN_REMEDY)


def _is_short(name: str) -> bool:
    return 0 < len(name) <= MAX_LABEL - len(_SUFFIX)


def schedule_is_valid(cron_job: WorkloadDocument) -> Iterator[RuleFinding]:
    schedule, zone = cron_job.text("spec.schedule"), cron_job.text("spec.timeZone")
    try:
        time_zone(zone)
    except ValueError as error:
        yield RuleFinding("spec.timeZone", *_parts_of(error))
    try:
        parse_schedule(schedule)
    except ValueError as error:
        yield RuleFinding("spec.schedule", *_parts_of(error))


def _parts_of(error: ValueError) -> tuple[str, str]:
    message, _, remedy = str(error).partition("; ")
    return message, remedy or "write one such as '0 3 * * *'"


def limits_are_valid(cron_job: WorkloadDocument) -> Iterator[RuleFinding]:
    policy = cron_job.text("spec.concurrencyPolicy")
    if policy not in _CONCURRENCY:
        message = f"{policy!r} is not a policy"
        yield RuleFinding("spec.concurrencyPolicy", message, "use one of Allow, Forbid, Replace")
    cron_job.flag("spec.suspend")
    for name in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        cron_job.count(f"spec.{name}", 0)


CRON_JOB_RULES: tuple[Rule, ...] = (name_is_short, schedule_is_valid, limits_are_valid)
