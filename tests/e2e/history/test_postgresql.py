"""A history on a real PostgreSQL server: the same results as in a file, several writers, and a server that is away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stromboli.core.model.usage.budgets import Budget, BudgetHolder, BudgetState
from stromboli.history.databases.database import HistoryError
from stromboli.history.databases.opening import open_for_reading, open_for_writing
from stromboli.history.query import HistoryFilter, pods_of, query
from stromboli.history.retention import HistoryBounds
from stromboli.history.run_times import learned_run_times
from stromboli.history.schema import VERSION
from stromboli.history.usage.reports import usage_of
from stromboli.history.usage.runs import load_runs
from stromboli.history.usage.thresholds import remove_ended_periods
from stromboli.history.writer import HistoryWriter
from testbed.postgresql import PostgresqlMissing, PostgresqlServer
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
from tests.testing.manifests.builders import gang
from tests.testing.world import cpus, running_cluster

pytestmark = pytest.mark.only("embedded", because="it needs no API server, and runs once")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    try:
        with PostgresqlServer() as running:
            yield running
    except PostgresqlMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def dsn(server: PostgresqlServer) -> str:
    """Return the address of an empty database."""
    return server.new_database()


def test_nul_in_the_name_of_a_user_is_left_out(dsn: str) -> None:
    """The server would reject it, with the records of all others in the same batch."""
    write_records(dsn, [recorded_job("odd", user_name="a\0na"), recorded_job("plain", user_name="ben")], [])
    with opened(dsn) as server:
        assert {job.user for job in query(server, HistoryFilter()).jobs} == {"ana", "ben"}


def test_both_databases_answer_queries_alike(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    for address in (dsn, str(path)):
        for _ in range(2):
            write_records(address, *example_records())
    everything = HistoryFilter()
    some = HistoryFilter("team-a", "", "research", frozenset({"Failed", "Succeeded"}), START + 700, 1)
    with opened(dsn) as server, opened(path) as file:
        assert query(server, everything).jobs == query(file, everything).jobs
        assert query(server, everything, ["team-b"]) == query(file, everything, ["team-b"])
        assert [job.name for job in query(server, some).jobs] == [job.name for job in query(file, some).jobs]
        for job in query(file, everything).jobs:
            assert pods_of(server, job.uid) == pods_of(file, job.uid)
        assert learned_run_times(server) == learned_run_times(file)
        for by in (["queue", "user"], ["namespace", "job"]):
            period = START + 600.5, START + 12_000
            assert usage_of(server, *period, by) == usage_of(file, *period, by)
        assert [len(load_runs(database)[0]) for database in (server, file)] == [26, 26]


def test_schedulers_that_share_a_server_charge_the_same_accounts(dsn: str) -> None:
    """Both start pods of equal jobs at once, so that each would add the account."""
    barrier = threading.Barrier(2)

    def record(name: str) -> None:
        writer = HistoryWriter(dsn, UNBOUNDED)
        for number in range(20):
            job = recorded_job(f"{name}-{number}", queue="shared", user_name=f"user-{number}", scheduler=name)
            writer.submit([job], [recorded_pod(f"{name}-{number}", start=0, end=10)])
            barrier.wait(30)
            writer.work()
        writer.disconnect()

    with opened_for_writing(dsn):
        threads = [threading.Thread(target=record, args=(name,)) for name in ("one", "other")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with opened(dsn) as database:
        assert [entry.pod_seconds for entry in usage_of(database, START, START + 60, ["user"])] == [20] * 20
        assert database.rows("SELECT count(*) FROM accounts")[0][0] == 20


def test_bounds_and_what_is_gone_are_kept_alike(dsn: str, tmp_path: Path) -> None:
    found = []
    for address in (dsn, str(tmp_path / "history.db")):
        write_records(address, *example_records())
        writer = HistoryWriter(address, HistoryBounds(max_age=3600.0, max_size=0), wall_clock=lambda: START + 14_400)
        writer.close_missing("stromboli", ["uid-evaluate"], ["uid-evaluate-0"], START + 14_000)
        writer.work()
        writer.disconnect()
        with opened(address) as database:
            found.append({job.name: (job.state, job.running) for job in query(database, HistoryFilter()).jobs})
    assert found[0] == found[1] == {"finetune": ("Succeeded", 0), "evaluate": ("Running", 1), "sweep": ("Unknown", 0)}


def test_oldest_jobs_are_removed_beyond_the_maximum_size(dsn: str) -> None:
    jobs = [recorded_job(f"job-{n:04}", at=n) for n in range(2000)]
    pods = [recorded_pod(f"job-{n:04}", at=n, start=n, end=n + 1, outcome="Succeeded") for n in range(2000)]
    writer = HistoryWriter(dsn, HistoryBounds(max_age=0, max_size=300_000))
    writer.submit(jobs, pods)
    writer.work()
    writer.disconnect()
    with opened(dsn) as database:
        left = [job.name for job in query(database, HistoryFilter()).jobs]
    assert 0 < len(left) < 1800
    assert left == [f"job-{n:04}" for n in range(2000 - len(left), 2000)]
    assert writer.size <= 300_000


def test_schedulers_that_start_together_migrate_once_and_share_the_history(dsn: str) -> None:
    jobs, pods = example_records()
    writers = [HistoryWriter(dsn, UNBOUNDED) for _ in range(4)]
    threads = [threading.Thread(target=writer.start) for writer in writers]
    for writer, part in zip(writers, range(4), strict=True):
        writer.submit(jobs, pods[part::4])
    for thread in threads:
        thread.start()
    for thread, writer in zip(threads, writers, strict=True):
        thread.join()
        writer.stop(20.0)
    assert [writer.problem for writer in writers] == [""] * 4
    with opened(dsn) as database:
        assert database.rows("SELECT version FROM history_version") == [(VERSION,)]
        assert {job.name: job.state for job in query(database, HistoryFilter()).jobs} == {
            "finetune": "Succeeded", "broken": "Failed", "urgent": "Succeeded", "evaluate": "Running",
            "sweep": "Pending",
        }  # fmt: skip


def test_records_wait_while_the_server_is_away(server: PostgresqlServer, dsn: str) -> None:
    writer = HistoryWriter(dsn, UNBOUNDED)
    writer.submit([recorded_job("one")])
    writer.work()
    server.restart(stopped=lambda: _fails(writer))
    writer.work()
    writer.disconnect()
    with opened(dsn) as database:
        assert [job.name for job in query(database, HistoryFilter()).jobs] == ["one", "two"]


def _fails(writer: HistoryWriter) -> None:
    writer.submit([recorded_job("two", at=1)])
    with pytest.raises(HistoryError) as failure:
        writer.work()
    writer.fail(failure.value)
    assert (writer.waiting, writer.written) == (1, 1)


def test_reader_cannot_write_and_messages_hide_the_password(dsn: str) -> None:
    with opened_for_writing(dsn):
        pass
    reader = open_for_reading(dsn)
    with pytest.raises(HistoryError, match="read-only"):
        reader.execute("DELETE FROM jobs")
    reader.close()
    with pytest.raises(HistoryError) as failure:
        open_for_writing("postgresql://user:secret@127.0.0.1:1/name")
    assert "secret" not in str(failure.value)
    assert "postgresql://user@127.0.0.1:1/name" in str(failure.value)


async def test_scheduler_records_on_the_server(dsn: str) -> None:
    async with running_cluster(cpus(1, 4), history=dsn) as world:
        await world.create(gang(2, 1, name="train"))
        await world.until_bound("train", 2)
        history = world.scheduler.history
        assert history is not None
        with opened(dsn) as database:

            def recorded() -> list[tuple[str, int, float]]:
                jobs = query(database, HistoryFilter(job="train")).jobs
                return [(job.state, job.starts, job.requests["cpu"]) for job in jobs]

            await world.until_true(lambda: recorded() == [("Running", 2, 2.0)], "the start is written")


def test_one_of_several_schedulers_announces_a_threshold(dsn: str) -> None:
    budget = Budget("cpu", 100.0)
    states = [BudgetState("research", budget, BudgetHolder(), used, 100.0, START) for used in (85.0, 120.0)]
    writers = [HistoryWriter(dsn, UNBOUNDED, wall_clock=lambda: START) for _ in range(4)]
    together = threading.Barrier(4)
    open_for_writing(dsn).close()

    def work(writer: HistoryWriter) -> None:
        together.wait(10)
        for state in states:
            writer.claim_threshold(state)
            writer.work()
        writer.disconnect()

    threads = [threading.Thread(target=work, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    claimed = [state.warning for writer in writers for state in writer.claimed_thresholds()]
    assert sorted(claimed) in ([80, 100], [100])
    with opened_for_writing(dsn) as database:
        assert remove_ended_periods(database, START) == 0
        assert remove_ended_periods(database, START + 40 * 86_400) == len(claimed)
