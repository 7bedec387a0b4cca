"""The runs of a CronJob: names, times, and the Jobs that are kept."""

from datetime import UTC, datetime
from typing import Any

import pytest

from stromboli.controllers.cron.runs import cron_specification, superfluous
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.volcano_jobs import VolcanoJob, VolcanoJobState, VolcanoJobStatus
from stromboli.workloads.document import WorkloadDocument

MOMENT = datetime(2026, 3, 1, 17, 30, tzinfo=UTC).timestamp()


def document(**spec: Any) -> WorkloadDocument:
    return WorkloadDocument(
        {"kind": "CronJob", "metadata": {"name": "report"}, "spec": {"schedule": "* * * * *", **spec}}
    )


@pytest.mark.parametrize(
    ("schedule", "name"),
    [
        pytest.param("30 17 * * *", "report-29539770", id="minutes"),
        pytest.param("@every 90s", "report-29539770", id="minutes-of-an-interval"),
        pytest.param("@every 30s", "report-69a47798", id="seconds-of-a-short-interval"),
    ],
)
def test_name_of_a_run_follows_from_its_time(schedule: str, name: str) -> None:
    assert cron_specification(document(schedule=schedule)).job_name(MOMENT) == name


@pytest.mark.parametrize(
    ("zone", "timestamp"),
    [
        pytest.param(None, "2026-03-01T17:30:00Z", id="utc"),
        pytest.param("Asia/Shanghai", "2026-03-02T01:30:00+08:00", id="zone"),
    ],
)
def test_timestamp_of_a_run_is_in_the_zone_of_the_schedule(zone: str | None, timestamp: str) -> None:
    assert cron_specification(document(timeZone=zone)).timestamp(MOMENT) == timestamp


@pytest.mark.parametrize(
    ("deadline", "late", "is_too_late"),
    [
        pytest.param(None, 10**6, False, id="no-deadline"),
        pytest.param(60, 60, False, id="in-time"),
        pytest.param(60, 61, True, id="late"),
        pytest.param(0, 1, True, id="zero"),
    ],
)
def test_deadline_limits_the_delay_of_a_run(deadline: int | None, late: float, is_too_late: bool) -> None:
    spec = cron_specification(document(startingDeadlineSeconds=deadline))
    assert spec.is_too_late(MOMENT, MOMENT + late) == is_too_late


def test_last_missed_time_alone_is_due() -> None:
    spec = cron_specification(document(schedule="0 * * * *"))
    assert spec.last_due(MOMENT, MOMENT + 5 * 3600) == MOMENT + 4.5 * 3600
    assert spec.last_due(MOMENT, MOMENT + 60) is None


def test_oldest_ended_jobs_above_the_limits_are_superfluous() -> None:
    phases = ["Completed", "Failed", "Running", "Completed", "Terminated", "Completed", "Aborted"]
    jobs = [
        VolcanoJob(
            metadata=ObjectMeta(name=str(number), creation_timestamp=f"2026-03-01T00:00:0{number}Z"),
            status=VolcanoJobStatus(state=VolcanoJobState(phase)),
        )
        for number, phase in enumerate(phases)
    ]
    spec = cron_specification(document(successfulJobsHistoryLimit=2, failedJobsHistoryLimit=0))
    assert [job.metadata.name for job in superfluous(spec, reversed(jobs))] == ["0", "1", "4"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"schedule": "60 * * * *"}, "spec.schedule", id="schedule"),
        pytest.param({"timeZone": "Mars/Olympus"}, "spec.schedule", id="zone"),
        pytest.param({"startingDeadlineSeconds": -1}, "spec.startingDeadlineSeconds", id="deadline"),
    ],
)
def test_invalid_field_is_reported(spec: dict[str, Any], field: str) -> None:
    with pytest.raises(ObjectError) as raised:
        cron_specification(document(**spec))
    assert raised.value.field == field
