"""Histories for tests: records of a few jobs, and a file with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from stromboli.history.databases.database import Database
from stromboli.history.databases.opening import open_for_reading, open_for_writing
from stromboli.history.records import RecordedJob, RecordedPod
from stromboli.history.retention import HistoryBounds
from stromboli.history.writer import HistoryWriter

START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC).timestamp()
UNBOUNDED = HistoryBounds(max_age=0, max_size=0)
REQUESTS = '{"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}'


def recorded_job(
    name: str, *, at: float = 0.0, minimum: int = 1, queue: str = "research", **facts: object
) -> RecordedJob:
    """Return a job of namespace `team-a` that was submitted some seconds after the start."""
    values: dict[str, object] = {
        "uid": f"uid-{name}", "namespace": "team-a", "name": name, "title": name, "queue": queue,
        "scheduler": "stromboli", "owner_kind": "Job", "owner_name": name,
        "user_name": "", "min_member": minimum, "priority_class": "",
        "created": START + at, **facts,
    }  # fmt: skip
    return RecordedJob(**values)  # type: ignore[arg-type]


def recorded_pod(
    job: str, number: int = 0, *, at: float = 0.0, start: float | None = None, end: float | None = None,
    evicted: float | None = None, **facts: object,
) -> RecordedPod:  # fmt: skip
    """Return an attempt of a member; times are seconds after the start."""
    values: dict[str, object] = {
        "uid": f"uid-{job}-{number}", "job": f"uid-{job}", "name": f"{job}-{number}", "template": "t1",
        "requests": REQUESTS, "created": START + at, "started": None if start is None else START + start,
        "node": None if start is None else f"node-{number % 4}", "ended": None if end is None else START + end,
        "evicted": None if evicted is None else START + evicted, **facts,
    }  # fmt: skip
    return RecordedPod(**values)  # type: ignore[arg-type]


def example_records() -> tuple[list[RecordedJob], list[RecordedPod]]:
    """A morning: a job that is preempted and starts again, one that fails, one that runs and one that waits."""
    finetune = [recorded_pod("finetune", n, at=60, start=61, evicted=1800, end=1815, outcome="Failed",
                             reason="preempt", preemptor="team-b/urgent") for n in range(4)]  # fmt: skip
    again = [recorded_pod("finetune", n, at=1816, start=5400, end=12600, outcome="Succeeded") for n in range(4, 8)]
    urgent = [recorded_pod("urgent", n, at=1799, start=1816, end=5399, outcome="Succeeded") for n in range(4)]
    broken = [recorded_pod("broken", at=600, start=601, end=655, outcome="Failed", cause="OOMKilled")]
    evaluate = [recorded_pod("evaluate", n, at=9000, start=9002) for n in range(2)]
    waits = [recorded_pod("sweep", n, at=9600) for n in range(16)]
    jobs = [
        recorded_job("finetune", at=60, minimum=4, user_name="ana", priority_class="batch"),
        recorded_job("broken", at=600, user_name="ben"),
        recorded_job("urgent", at=1799, minimum=4, queue="production", namespace="team-b", priority_class="high"),
        recorded_job("evaluate", at=9000, minimum=2, user_name="ana"),
        recorded_job("sweep", at=9600, minimum=16, user_name="ben"),
    ]
    return jobs, [*finetune, *again, *urgent, *broken, *evaluate, *waits]


def write_records(address: str, jobs: list[RecordedJob], pods: list[RecordedPod]) -> None:
    """Write records in this thread, as the thread of the writer does."""
    writer = HistoryWriter(address, UNBOUNDED)
    writer.submit(jobs, pods)
    writer.work()
    writer.disconnect()


@contextmanager
def opened(path: Path | str) -> Iterator[Database]:
    database = open_for_reading(str(path))
    try:
        yield database
    finally:
        database.close()


@contextmanager
def opened_for_writing(path: Path | str) -> Iterator[Database]:
    database = open_for_writing(str(path))
    try:
        yield database
    finally:
        database.close()
