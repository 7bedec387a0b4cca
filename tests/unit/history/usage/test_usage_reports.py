"""Usage of a period: which part of a run counts, and to which queue, user, namespace and job it is charged."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.core.model.usage.decay import UsageDecay
from stromboli.history.databases.sqlite import SqliteDatabase
from stromboli.history.schema import _FIRST
from stromboli.history.usage.reports import UsageEntry, usage_of
from stromboli.history.usage.runs import load_runs
from tests.testing.histories import (
    START,
    example_records,
    opened,
    opened_for_writing,
    recorded_job,
    recorded_pod,
    write_records,
)

GPU = "nvidia.com/gpu"
HOUR = 3600.0


def usage(path: Path, *by: str, since: float = 0.0, until: float = 4 * HOUR) -> dict[tuple[str, ...], UsageEntry]:
    with opened(path) as database:
        found = usage_of(database, START + since, START + until, by)
    return {tuple(entry.key.values()): entry for entry in found}


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("usage") / "history.db"
    write_records(str(path), *example_records())
    return path


#: Seconds of a pod of each job: 4 members until 1815 and again from 5400 to 12600, and so on.
FINETUNE, URGENT, BROKEN, EVALUATE = 4 * (1754 + 7200), 4 * 3583, 54, 2 * (4 * 3600 - 9002)


@pytest.mark.parametrize(("by", "expected"), [
    (("queue",), {("research",): FINETUNE + BROKEN + EVALUATE, ("production",): URGENT}),
    (("user",), {("ana",): FINETUNE + EVALUATE, ("ben",): BROKEN, ("",): URGENT}),
    (("namespace",), {("team-a",): FINETUNE + BROKEN + EVALUATE, ("team-b",): URGENT}),
    (("queue", "user"), {("research", "ana"): FINETUNE + EVALUATE, ("research", "ben"): BROKEN,
                         ("production", ""): URGENT}),
    (("job",), {("team-a/finetune",): FINETUNE, ("team-b/urgent",): URGENT, ("team-a/broken",): BROKEN,
                ("team-a/evaluate",): EVALUATE}),
])  # fmt: skip
def test_usage_by_dimensions(example: Path, by: tuple[str, ...], expected: dict[tuple[str, ...], int]) -> None:
    found = usage(example, *by)
    assert {key: entry.pod_seconds for key, entry in found.items()} == expected
    for key, entry in found.items():
        assert entry.resource_seconds["cpu"] == expected[key] * 8
        assert entry.resource_seconds["memory"] == expected[key] * 32 * 2**30
        assert entry.resource_seconds[GPU] == expected[key]


@pytest.mark.parametrize(("since", "until", "seconds"), [
    (0, 100, 4 * 39), (1000, 1100, 400), (1815, 5400, 0), (12_000, 20_000, 2400), (0, 61, 0),
])  # fmt: skip
def test_only_the_part_of_a_run_within_the_period_counts(
    example: Path, since: float, until: float, seconds: int
) -> None:
    found = usage(example, "job", since=since, until=until).get(("team-a/finetune",))
    assert (found.pod_seconds if found else 0) == seconds


def test_run_that_has_not_ended_counts_until_the_end_of_the_period(example: Path) -> None:
    assert usage(example, "job", until=9102)["team-a/evaluate",].pod_seconds == 200


def test_fractions_of_a_second_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    pods = [recorded_pod("job", n, start=0.1, end=0.2 + n / 10) for n in range(1000)]
    write_records(str(path), [recorded_job("job")], pods)
    expected = sum(Fraction(round((START + 0.2 + n / 10 - (START + 0.1)) * 1e6), 10**6) for n in range(1000))
    assert usage(path, "queue")["research",].pod_seconds == expected


def test_job_that_moves_to_another_queue_is_charged_there_for_later_runs_only(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    write_records(str(path), [recorded_job("job")], [recorded_pod("job", 0, start=0, end=100)])
    write_records(str(path), [recorded_job("job", queue="other")], [recorded_pod("job", 1, start=100, end=130)])
    found = usage(path, "queue")
    assert {key: entry.pod_seconds for key, entry in found.items()} == {("research",): 100, ("other",): 30}


def test_tables_of_the_first_version_are_charged_when_they_are_migrated(tmp_path: Path, example: Path) -> None:
    """The copy has the rows of the example as an earlier version wrote them."""
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as connection:
        for statement in _FIRST:
            connection.execute(statement)
        connection.execute("CREATE TABLE history_version (version BIGINT NOT NULL)")
        connection.execute("INSERT INTO history_version (version) VALUES (1)")
        connection.execute("ATTACH ? AS example", (str(example),))
        for table in ("jobs", "pods"):
            columns = ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table})"))
            connection.execute(f"INSERT INTO {table} SELECT {columns} FROM example.{table}")  # noqa: S608
        connection.commit()
        connection.execute("DETACH example")
    with opened_for_writing(path):
        pass
    assert usage(path, "queue", "user") == usage(example, "queue", "user")


def test_ledger_of_recorded_runs_has_the_usage_of_the_report(example: Path) -> None:
    axis = ResourceAxis(("cpu", "memory", "pods", GPU))
    with opened(example) as database:
        ledger, running = load_runs(database)
    assert [run.started for run in running] == [START + 9002] * 2
    for run in running:
        ledger.started(run.account, run.started)
    past = ledger.at(START + 4 * HOUR, UsageDecay(), axis, len(axis))
    for (queue, user), entry in usage(example, "queue", "user").items():
        used = past.user(queue, user)
        assert used[0] / 1000 == pytest.approx(float(entry.resource_seconds["cpu"]))
        assert used[2] == pytest.approx(float(entry.pod_seconds))


class HistoryWrittenWhileRead(SqliteDatabase):
    """Between the queries of a reader, all pods end, and a pod of a new account is recorded."""

    def batches(self, statement: str, *parameters: object) -> Iterator[list[Sequence[Any]]]:
        yield from super().batches(statement, *parameters)
        pods = [recorded_pod("job", 0, start=0, end=100), recorded_pod("new", 1, start=50, end=60)]
        write_records(self.name, [recorded_job("new", queue="other")], pods)


def test_run_that_ends_while_the_runs_are_loaded_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    write_records(str(path), [recorded_job("job")], [recorded_pod("job", 0, start=0)])
    with closing(HistoryWrittenWhileRead(str(path), is_read_only=True)) as database:
        _, running = load_runs(database)
    assert [run.started for run in running] == [START]
    assert usage(path, "queue")["research",].pod_seconds == 100
