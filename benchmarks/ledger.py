"""The usage ledger of a long history: its start-up from the database, its memory, and usage at a moment."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.measurement import Result, finished
from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.core.model.usage.decay import UsageDecay
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.history.databases.database import Database
from stromboli.history.databases.opening import open_for_reading, open_for_writing
from stromboli.history.usage.reports import usage_of
from stromboli.history.usage.runs import load_runs

Parameters = dict[str, int]
_NOW = 1_790_000_000.0
_DAYS = 90
_DECAY = UsageDecay(half_life=7 * 86_400.0)


def ledger(parameters: Parameters, runs: int) -> list[Result]:
    """Load a history of this many jobs of one pod each, of 90 days."""
    axis = ResourceAxis(("cpu", "memory", "pods", "nvidia.com/gpu"))
    timings, loaded = [], UsageLedger()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "history.db")
        written = open_for_writing(path)
        _fill(written, parameters["jobs"])
        written.close()
        database = open_for_reading(path)
        for _ in range(runs):
            del loaded
            began = time.process_time()
            loaded, _ = load_runs(database)
            loaded.at(_NOW, _DECAY, axis, len(axis))
            timings.append(time.process_time() - began)
        began = time.process_time()
        for second in range(100):
            loaded.at(_NOW + second, _DECAY, axis, len(axis)).queue("queue-0")
        per_cycle = (time.process_time() - began) / 100
        began = time.process_time()
        entries = usage_of(database, _NOW - 30 * 86_400, _NOW, ["queue", "user"])
        report = time.process_time() - began
        database.close()
    seconds = min(timings)
    result = Result("ledger", parameters, seconds, len(loaded) // 2, parameters["jobs"] / seconds, {})
    result.runs = timings
    result.more = {
        "start_up_seconds": round(seconds, 3),
        "milliseconds_per_cycle": round(per_cycle * 1000, 3),
        "report_of_30_days_seconds": round(report, 3),
        "accounts_in_report": len(entries),
    }
    return [finished(result)]


def _fill(database: Database, jobs: int) -> None:
    """Write rows as the writer leaves them: charged, ended, and spread over the days before the present."""
    with database.transaction():
        database.execute("CREATE TEMP TABLE n (i, job, account, namespace, queue, user_name, requests, started, ended)")
        database.execute(_NUMBERED, _NOW - _DAYS * 86_400, _DAYS * 86_400.0 / jobs, jobs)
        for statement in _TABLES:
            database.execute(statement)


#: 4,000 accounts: 20 queues with 200 users each, of which each uses one of 10 shapes.
_NUMBERED = """
    INSERT INTO n WITH RECURSIVE moments(i, started, step) AS (
        SELECT 0, ?, ? UNION ALL SELECT i + 1, started + step, step FROM moments WHERE i + 1 < ?)
    SELECT i, 'job-' || i, i % 4000, 'team-' || (i % 20), 'queue-' || (i % 20), 'user-' || (i / 20 % 200),
        '{"cpu": "' || (i % 10 + 1) || '", "memory": "' || (i % 10 + 1) || 'Gi", "nvidia.com/gpu": "1"}',
        started, started + i * 7 % 20000 + 1 FROM moments"""
_TABLES = (
    "INSERT INTO accounts SELECT DISTINCT account, namespace, queue, user_name, requests FROM n",
    """INSERT INTO jobs (uid, namespace, name, title, queue, scheduler, owner_kind, owner_name, user_name, min_member,
            priority_class, created, state, started, ended)
        SELECT job, namespace, job, job, queue, 'stromboli', 'Job', job, user_name, 1, '', started, 'Succeeded',
            started, ended FROM n""",
    """INSERT INTO pods (uid, job, name, node, requests, created, started, ended, outcome, account)
        SELECT 'pod-' || i, job, job || '-0', 'node-' || (i % 500), requests, started, started, ended, 'Succeeded',
            account FROM n""",
    "DROP TABLE n",
)
