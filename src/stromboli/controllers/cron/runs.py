"""The runs of a CronJob: which time is due, what its Job is called, and which ended Jobs are too many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from stromboli.controllers.jobs.phases import COMPLETED
from stromboli.controllers.owned_jobs import age, has_ended
from stromboli.kube.objects.volcano_jobs import VolcanoJob
from stromboli.workloads.cron.schedules import CronSchedule, parse_schedule
from stromboli.workloads.document import WorkloadDocument

ALLOW, FORBID, REPLACE = "Allow", "Forbid", "Replace"
_KEPT_SUCCESSFUL, _KEPT_FAILED = 3, 1


@dataclass(frozen=True, slots=True)
class CronSpecification:
    """When a CronJob runs, and what it keeps."""

    name: str
    schedule: CronSchedule
    concurrency: str
    is_suspended: bool
    #: How late a run may start, in seconds; None for any time.
    deadline: int | None
    kept_successful: int
    kept_failed: int

    def last_due(self, since: float, now: float) -> float | None:
        """Return the last time after `since` that is due: of several that were missed, only the last one runs."""
        return self.schedule.last_until(since, now)

    def is_too_late(self, due: float, now: float) -> bool:
        return self.deadline is not None and now - due > self.deadline

    def job_name(self, due: float) -> str:
        """Return the name of the Job of a run, which follows from its time: as Volcano's, with the minutes since 1970.

        Runs of less than a minute apart have the seconds, in hexadecimal, so that the name has the same length.
        """
        is_frequent = 0 < self.schedule.every < 60
        return f"{self.name}-{int(due):08x}" if is_frequent else f"{self.name}-{int(due) // 60}"

    def timestamp(self, due: float) -> str:
        """Return a time in the time zone of the schedule."""
        return datetime.fromtimestamp(int(due), self.schedule.zone).isoformat().replace("+00:00", "Z")


def cron_specification(cron_job: WorkloadDocument) -> CronSpecification:
    """Read the spec of a CronJob. Raises ObjectError."""
    text = cron_job.text("spec.schedule")
    try:
        schedule = parse_schedule(text, cron_job.text("spec.timeZone"))
    except ValueError as error:
        raise cron_job.error("spec.schedule", str(error), "write a schedule such as '0 3 * * *'") from None
    has_deadline = cron_job.value("spec.startingDeadlineSeconds") is not None
    return CronSpecification(
        name=cron_job.name,
        schedule=schedule,
        concurrency=cron_job.text("spec.concurrencyPolicy") or ALLOW,
        is_suspended=cron_job.flag("spec.suspend"),
        deadline=cron_job.count("spec.startingDeadlineSeconds", 0) if has_deadline else None,
        kept_successful=cron_job.count("spec.successfulJobsHistoryLimit", _KEPT_SUCCESSFUL),
        kept_failed=cron_job.count("spec.failedJobsHistoryLimit", _KEPT_FAILED),
    )


def superfluous(spec: CronSpecification, jobs: Iterable[VolcanoJob]) -> list[VolcanoJob]:
    """Return the ended Jobs above the limits, the oldest first. Terminated Jobs count as failed."""
    ended = sorted((job for job in jobs if has_ended(job)), key=age)
    successful = [job for job in ended if job.status.state.phase == COMPLETED]
    failed = [job for job in ended if job.status.state.phase != COMPLETED]
    return [*_oldest(successful, spec.kept_successful), *_oldest(failed, spec.kept_failed)]


def _oldest(jobs: Sequence[VolcanoJob], kept: int) -> Sequence[VolcanoJob]:
    return jobs[: max(len(jobs) - kept, 0)]
