"""The time of the next run, which plans of workloads with a schedule name."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stromboli.workloads.reading import read_with_workloads
from tests.unit.workloads.inputs import NAMES, template, workload

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC).timestamp()
JOB = {"jobTemplate": {"spec": {"template": template()}}}
TASKS = {"jobTemplate": {"spec": {"tasks": [{"name": "a", "replicas": 1, "template": template()}]}}}
MAIN = {"entrypoint": "main", "templates": [{"name": "main", "container": {"image": "example/main"}}]}
VOLCANO, ARGO = "batch.volcano.sh/v1alpha1", "argoproj.io/v1alpha1"
RUNS = [
    ("CronJob", workload("batch/v1", "CronJob", {**JOB, "schedule": "0 3 * * *"}), "2026-01-02T03:00:00Z (0 3 * * *)"),
    ("time zone", workload("batch/v1", "CronJob", {**JOB, "schedule": "0 3 * * *", "timeZone": "Asia/Tokyo"}),
     "2026-01-01T18:00:00Z (0 3 * * *)"),
    ("Volcano CronJob", workload(VOLCANO, "CronJob", {**TASKS, "schedule": "@hourly"}),
     "2026-01-01T13:00:00Z (@hourly)"),
    ("several schedules", workload(ARGO, "CronWorkflow", {
        "workflowSpec": MAIN, "schedules": ["0 3 * * *", "30 3 * * *"], "timezone": "Asia/Tokyo"}),
     "2026-01-01T18:00:00Z (0 3 * * *, 30 3 * * *)"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "expected"), [case[1:] for case in RUNS], ids=[case[0] for case in RUNS])
def test_note_names_the_time_of_the_next_run(document: dict[str, Any], expected: str) -> None:
    text = io.StringIO(msgspec.json.encode(document).decode())
    [note] = read_with_workloads(["-"], text, scheduler_names=NAMES, now=NOW).notes
    assert note.endswith(f"its next run, at {expected}, is planned as if it started now")
