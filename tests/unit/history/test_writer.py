"""The thread of the writer: failures, bounds, a killed process, and what is gone after a restart."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from stromboli.history.databases.database import Database, HistoryError
from stromboli.history.databases.opening import check_address, open_for_reading, open_for_writing
from stromboli.history.query import HistoryFilter, query
from stromboli.history.retention import HistoryBounds
from stromboli.history.schema import VERSION
from stromboli.history.usage.reports import usage_of
from stromboli.history.writer import HistoryWriter
from tests.testing.histories import (
    START,
    UNBOUNDED,
    example_records,
    opened,
    opened_for_writing,
    recorded_job,
    recorded_pod,
    write_records,
)


def states(path: Path) -> dict[str, str]:
    with opened(path) as database:
        return {job.name: job.state for job in query(database, HistoryFilter()).jobs}


# -- the thread ---------------------------------------------------------------------------------------------------


def test_thread_writes_what_is_submitted_until_it_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "history.db"
    writer = HistoryWriter(str(path), UNBOUNDED)
    writer.start()
    writer.submit(*example_records())
    writer.stop(10.0)
    assert (writer.waiting, writer.dropped, writer.problem) == (0, 0, "")
    assert states(path)["finetune"] == "Succeeded"


def test_records_wait_while_the_database_fails_and_are_written_later(tmp_path: Path) -> None:
    failures = iter([True, True, False])

    def connect(address: str) -> Database:
        if next(failures, False):
            raise HistoryError("the server is away")
        return open_for_writing(address)

    writer = HistoryWriter(str(tmp_path / "history.db"), UNBOUNDED, connect=connect)
    writer.submit([recorded_job("job")], [recorded_pod("job", start=1)])
    for _ in range(2):
        with pytest.raises(HistoryError, match="the server is away"):
            writer.work()
        assert writer.waiting == 2
    writer.work()
    assert (writer.waiting, writer.written) == (0, 2)
    assert states(tmp_path / "history.db") == {"job": "Running"}


def test_records_beyond_the_limit_are_dropped_counted_and_asked_for_again(tmp_path: Path) -> None:
    writer = HistoryWriter(str(tmp_path / "history.db"), UNBOUNDED, max_waiting=2)
    writer.submit([recorded_job("job")], [recorded_pod("job")])
    writer.submit(pods=[recorded_pod("job", start=1)])
    assert (writer.waiting, writer.dropped, writer.has_lost_records) == (2, 1, True)
    writer.work()
    writer.submit(pods=[recorded_pod("job", start=1)])
    writer.close_missing("stromboli", ["uid-job"], ["uid-job-0"], START)
    assert not writer.has_lost_records
    writer.work()
    assert states(tmp_path / "history.db") == {"job": "Running"}


def test_submission_does_not_wait_for_a_batch_in_work(tmp_path: Path) -> None:
    entered, release = threading.Event(), threading.Event()

    def connect(address: str) -> Database:
        entered.set()
        assert release.wait(10)
        return open_for_writing(address)

    writer = HistoryWriter(str(tmp_path / "history.db"), UNBOUNDED, connect=connect)
    writer.start()
    assert entered.wait(10)
    for number in range(100):
        writer.submit([recorded_job(f"job-{number}")])
    assert writer.waiting == 100
    release.set()
    writer.stop(10.0)
    assert writer.written == 100


# -- restarts -------------------------------------------------------------------------------------------------------

_ENDLESS = """
import sys
from tests.testing.histories import UNBOUNDED, example_records
from stromboli.history.writer import HistoryWriter
writer = HistoryWriter(sys.argv[1], UNBOUNDED)
jobs, pods = example_records()
while True:
    for pod in pods:
        writer.submit(jobs, [pod])
        writer.work()
        print("written", flush=True)
"""


def test_file_is_intact_and_counts_nothing_twice_after_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    root = Path(__file__).parents[3]
    process = subprocess.Popen([sys.executable, "-c", _ENDLESS, str(path)], stdout=subprocess.PIPE, cwd=root)
    assert process.stdout is not None
    for _ in range(17):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    write_records(str(path), *example_records())
    write_records(str(tmp_path / "fresh.db"), *example_records())
    with opened(path) as killed, opened(tmp_path / "fresh.db") as fresh:
        assert query(killed, HistoryFilter()).jobs == query(fresh, HistoryFilter()).jobs
        by = ["queue", "user"]
        assert usage_of(killed, START, START + 86_400, by) == usage_of(fresh, START, START + 86_400, by)


def test_what_is_gone_after_a_restart_ends_with_an_unknown_outcome(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    gone = ([recorded_job("gone"), recorded_job("stays"), recorded_job("other", scheduler="another")],
            [recorded_pod(name, start=1) for name in ("gone", "stays", "other")])  # fmt: skip
    write_records(str(path), *gone)
    writer = HistoryWriter(str(path), UNBOUNDED)
    writer.close_missing("stromboli", ["uid-stays"], ["uid-stays-0"], START + 60)
    writer.work()
    assert states(path) == {"gone": "Unknown", "stays": "Running", "other": "Running"}


# -- bounds ---------------------------------------------------------------------------------------------------------


def test_jobs_are_removed_after_the_maximum_age_and_those_that_run_stay(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    now = START + 86_400
    writer = HistoryWriter(str(path), HistoryBounds(max_age=20 * 3600.0), wall_clock=lambda: now)
    jobs, pods = example_records()
    late = recorded_job("late", at=80_000), recorded_pod("late", at=80_000, start=80_001, end=80_002)
    writer.submit([*jobs, late[0]], [*pods, late[1]])
    writer.work()
    assert set(states(path)) == {"evaluate", "sweep", "late"}


def test_oldest_jobs_are_removed_beyond_the_maximum_size(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    jobs = [recorded_job(f"job-{n:04}", at=n) for n in range(2000)]
    pods = [recorded_pod(f"job-{n:04}", at=n, start=n, end=n + 1, outcome="Succeeded") for n in range(2000)]
    writer = HistoryWriter(str(path), HistoryBounds(max_age=0, max_size=500_000))
    writer.submit(jobs, pods)
    writer.work()
    left = sorted(states(path))
    assert 0 < len(left) < 1500
    assert left == [f"job-{n:04}" for n in range(2000 - len(left), 2000)]
    assert writer.size <= 500_000


# -- versions and addresses -----------------------------------------------------------------------------------------


def test_tables_of_a_newer_version_are_rejected_and_stay(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with opened_for_writing(path) as database:
        database.execute("UPDATE history_version SET version = ?", VERSION + 1)
    with pytest.raises(HistoryError, match=f"newer than {VERSION}; upgrade this scheduler"):
        open_for_writing(str(path))
    with pytest.raises(HistoryError, match=f"version {VERSION} is needed"):
        open_for_reading(str(path))


BAD = [
    pytest.param("absent.db", "absent.db: no such file", id="missing file"),
    pytest.param("text.db", "file is not a database", id="another file"),
    pytest.param("empty.db", "has no tables of a history", id="empty file"),
]


@pytest.mark.parametrize(("name", "problem"), BAD)
def test_file_that_is_no_history_is_rejected_with_its_name(name: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("This is text. " * 100)
    (tmp_path / "empty.db").touch()
    with pytest.raises(HistoryError, match=problem):
        open_for_reading(str(tmp_path / name))


def test_address_of_another_database_is_rejected() -> None:
    with pytest.raises(HistoryError, match="mysql:// is no database"):
        check_address("mysql://host/name")
