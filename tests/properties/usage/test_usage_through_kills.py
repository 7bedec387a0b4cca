"""Usage equals the pod-seconds of the history, and those that pods ran, through kills at any statement."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.core.model.usage.decay import UsageDecay
from stromboli.history.databases.sqlite import SqliteDatabase
from stromboli.history.records import RecordedJob, RecordedPod
from stromboli.history.schema import migrate
from stromboli.history.usage.reports import usage_of
from stromboli.history.usage.runs import load_runs
from stromboli.history.writer import HistoryWriter
from tests.testing.histories import START, UNBOUNDED, opened, recorded_job, recorded_pod

KILLS = 50
PODS = 120
QUEUES, USERS = ("research", "production"), ("ana", "ben", "")


class Killed(Exception):
    """The process ends here: nothing after this point happens."""


class KilledDatabase(SqliteDatabase):
    """Ends before or after a statement, with the transaction open, as a killed process leaves it."""

    def __init__(self, path: str, statements: int, *, is_done: bool) -> None:
        self._left, self._is_done = statements, is_done
        super().__init__(path)

    def execute(self, statement: str, *parameters: object) -> int:
        self._left -= 1
        if self._left < 0:
            if self._is_done:
                super().execute(statement, *parameters)
            self._connection.close()
            raise Killed
        return super().execute(statement, *parameters)


def records(pod: int, until: float) -> RecordedPod | None:
    """Return what is known of a pod at a moment."""
    start, end = pod * 7.25, pod * 7.25 + (pod * 37) % 211 + 0.001
    if start > until:
        return None
    return recorded_pod(f"{pod % 10}", pod, start=start, end=end if end <= until else None)


def run_until_killed(path: Path, chance: random.Random, moment: float) -> float:
    """Report everything, and then changes, until the process is killed; return the moment of the end."""
    statements, is_done = chance.randrange(1, 30), chance.random() < 0.5

    def connect(address: str) -> SqliteDatabase:
        database = KilledDatabase(address, statements, is_done=is_done)
        migrate(database)
        return database

    writer = HistoryWriter(str(path), UNBOUNDED, connect=connect)
    last = moment
    with suppress(Killed):
        for now in report_forever(writer, chance, moment):
            last = now
    return last


def jobs() -> list[RecordedJob]:
    return [recorded_job(f"{number}", queue=QUEUES[number % 2], user_name=USERS[number % 3]) for number in range(10)]


def report_forever(writer: HistoryWriter, chance: random.Random, moment: float) -> Iterator[float]:
    """Record what is known at each moment, and yield the moment before that is written."""
    while True:
        present = [found for pod in range(PODS) if (found := records(pod, moment)) is not None]
        writer.submit(jobs(), present if chance.random() < 0.3 else present[-8:])
        if chance.random() < 0.2:
            writer.submit(jobs(), present)
            writer.close_missing("stromboli", [job.uid for job in jobs()], [p.uid for p in present], START + moment)
        yield moment
        writer.work()
        moment += chance.uniform(0.0, 12.0)


def record_everything(address: str) -> float:
    """Record all jobs and the ends of all pods, as a process that is not killed; return the moment after that."""
    end = PODS * 7.25 + 300
    writer = HistoryWriter(address, UNBOUNDED)
    writer.submit(jobs())
    writer.submit(pods=[found for pod in range(PODS) if (found := records(pod, end)) is not None])
    writer.work()
    writer.disconnect()
    return START + end


#: What all pods ran, in seconds.
TOTAL = sum(Fraction((pod * 37) % 211 * 1000 + 1, 1000) for pod in range(PODS))


def test_usage_is_exact_through_fifty_kills(tmp_path: Path) -> None:
    path, chance, moment = tmp_path / "history.db", random.Random(7), 0.0  # noqa: S311
    for _ in range(KILLS):
        moment = run_until_killed(path, chance, moment)
        if path.stat().st_size and moment > 0:
            assert_usage_is_that_of_the_rows(path, START + moment)
    assert_everything_is_recorded(str(path))


def assert_everything_is_recorded(address: str) -> None:
    """Record the rest, and compare the sum with what the pods ran."""
    end = record_everything(address)
    assert_usage_is_that_of_the_rows(address, end)
    with opened(address) as database:
        assert sum(entry.pod_seconds for entry in usage_of(database, 0.0, end, ["queue"])) == TOTAL


def assert_usage_is_that_of_the_rows(path: Path | str, now: float) -> None:
    with opened(path) as database:
        rows = database.rows(
            "SELECT j.queue, j.user_name, p.started, p.ended FROM pods AS p JOIN jobs AS j ON p.job = j.uid "
            "WHERE p.started IS NOT NULL"
        )
        found = usage_of(database, 0.0, now, ["queue", "user"])
        ledger, running = load_runs(database)
    expected: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for queue, user, started, ended in rows:
        expected[queue, user] += Fraction(round((min(ended or now, now) - started) * 1_000_000), 1_000_000)
    assert {(e.key["queue"], e.key["user"]): e.pod_seconds for e in found} == expected
    for run in running:
        ledger.started(run.account, run.started)
    past = ledger.at(now, UsageDecay(), ResourceAxis(), 3)
    assert abs(past.total[2] - float(sum(expected.values()))) < 1e-3
