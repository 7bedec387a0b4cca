"""The SQL that writes a history, in the form that both databases understand.

Columns of pods keep their first value. Everything about a job that follows from its pods is calculated again from them
whenever one of them has changed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from stromboli.history.databases.database import Column, Database
from stromboli.history.records import UNKNOWN, RecordedJob, RecordedPod

_JOB_COLUMNS: tuple[Column, ...] = (
    ("uid", "TEXT"), ("namespace", "TEXT"), ("name", "TEXT"), ("title", "TEXT"), ("queue", "TEXT"),
    ("scheduler", "TEXT"), ("owner_kind", "TEXT"), ("owner_name", "TEXT"), ("user_name", "TEXT"),
    ("min_member", "BIGINT"), ("priority_class", "TEXT"), ("created", "DOUBLE PRECISION"),
    ("deleted", "DOUBLE PRECISION"), ("suspended", "DOUBLE PRECISION"),
)  # fmt: skip
_POD_COLUMNS: tuple[Column, ...] = (
    ("uid", "TEXT"), ("job", "TEXT"), ("name", "TEXT"), ("node", "TEXT"), ("template", "TEXT"), ("requests", "TEXT"),
    ("created", "DOUBLE PRECISION"), ("started", "DOUBLE PRECISION"), ("ended", "DOUBLE PRECISION"),
    ("outcome", "TEXT"), ("cause", "TEXT"), ("evicted", "DOUBLE PRECISION"), ("reason", "TEXT"), ("preemptor", "TEXT"),
)  # fmt: skip
_CHANGING = ("title", "queue", "owner_kind", "owner_name", "user_name", "min_member", "priority_class")
_FIXED = ("uid", "job", "name")

_AGGREGATES = """
    SELECT job, count(*) AS pods, count(started) AS starts, count(evicted) AS evictions, min(template) AS template,
        count(*) FILTER (WHERE started IS NOT NULL AND ended IS NULL) AS running,
        count(*) FILTER (WHERE started IS NULL AND ended IS NULL) AS waiting,
        count(*) FILTER (WHERE outcome = 'Failed' AND evicted IS NULL) AS failures,
        count(*) FILTER (WHERE outcome = 'Succeeded') AS successes,
        count(*) FILTER (WHERE outcome = 'Unknown') AS lost,
        max(ended) AS ended, max(ended) FILTER (WHERE evicted IS NOT NULL) AS evicted_last
    FROM pods WHERE job IN {jobs} GROUP BY job"""
_STATE = """CASE
    WHEN a.running > 0 THEN 'Running'
    WHEN a.waiting > 0 AND jobs.deleted IS NULL THEN 'Pending'
    WHEN jobs.suspended IS NOT NULL THEN 'Suspended'
    WHEN a.successes > 0 AND a.successes >= jobs.min_member THEN 'Succeeded'
    WHEN a.evicted_last >= a.ended THEN 'Evicted'
    WHEN a.failures > 0 THEN 'Failed'
    WHEN a.lost > 0 THEN 'Unknown'
    WHEN jobs.deleted IS NULL THEN 'Pending'
    ELSE 'Cancelled' END"""


def write_jobs(database: Database, jobs: Sequence[RecordedJob]) -> None:
    """Add jobs, or update what may change about them."""
    names = ", ".join(name for name, _ in _JOB_COLUMNS)
    changes = ", ".join(f"{name} = excluded.{name}" for name in _CHANGING)
    database.execute(
        f"INSERT INTO jobs ({names}) SELECT {names} FROM {database.elements(_JOB_COLUMNS)} AS src WHERE true "  # noqa: S608
        f"ON CONFLICT (uid) DO UPDATE SET {changes}, deleted = COALESCE(jobs.deleted, excluded.deleted), "
        "suspended = COALESCE(jobs.suspended, excluded.suspended)",
        _json(jobs),
    )


def write_pods(database: Database, pods: Sequence[RecordedPod]) -> None:
    """Add pods, or fill in their unknown columns. A pod without a job is written only if it is there already."""
    names = ", ".join(name for name, _ in _POD_COLUMNS)
    changes = ", ".join(
        f"{name} = COALESCE(pods.{name}, excluded.{name})" for name, _ in _POD_COLUMNS if name not in _FIXED
    )
    database.execute(
        f"INSERT INTO pods ({names}) SELECT {names} FROM {database.elements(_POD_COLUMNS)} AS src "  # noqa: S608
        "WHERE src.job <> '' OR EXISTS (SELECT 1 FROM pods AS known WHERE known.uid = src.uid) "
        f"ON CONFLICT (uid) DO UPDATE SET {changes}",
        _json(pods),
    )


def jobs_of(database: Database, pods: Collection[str]) -> set[str]:
    """Return the jobs of these pods, by uid."""
    uids = database.elements((("uid", "TEXT"),))
    found = database.rows(
        f"SELECT DISTINCT job FROM pods WHERE uid IN (SELECT uid FROM {uids} AS src)",  # noqa: S608
        _json([(uid,) for uid in pods]),
    )
    return {row[0] for row in found}


def refresh(database: Database, jobs: Collection[str]) -> None:
    """Calculate state, counts and times of jobs again from their pods."""
    parameter = _json([(uid,) for uid in jobs])
    chosen = f"(SELECT uid FROM {database.elements((('uid', 'TEXT'),))} AS src)"  # noqa: S608
    state = f"({_STATE})"
    database.execute(
        "UPDATE jobs SET pods = a.pods, starts = a.starts, running = a.running, evictions = a.evictions, "  # noqa: S608
        f"failures = a.failures, template = COALESCE(a.template, jobs.template), state = {state}, "
        f"ended = CASE WHEN {state} IN ('Running', 'Pending') THEN NULL "
        "ELSE COALESCE(a.ended, jobs.deleted) END "
        f"FROM ({_AGGREGATES.format(jobs=chosen)}) AS a WHERE jobs.uid = a.job",
        parameter,
    )
    database.execute(
        "UPDATE jobs SET started = s.started FROM ("  # noqa: S608
        "SELECT job, started, row_number() OVER (PARTITION BY job ORDER BY started) AS place "
        f"FROM pods WHERE started IS NOT NULL AND job IN {chosen}) AS s "
        "WHERE jobs.uid = s.job AND (jobs.started IS NULL OR s.started < jobs.started) "
        "AND s.place = CASE WHEN jobs.min_member > 1 THEN jobs.min_member ELSE 1 END",
        parameter,
    )
    database.execute(
        "UPDATE jobs SET state = CASE WHEN suspended IS NULL THEN 'Cancelled' ELSE 'Suspended' END, "  # noqa: S608
        "ended = deleted "
        f"WHERE deleted IS NOT NULL AND pods = 0 AND uid IN {chosen}",
        parameter,
    )


def close_missing(
    database: Database, scheduler: str, jobs: Collection[str], pods: Collection[str], now: float
) -> set[str]:
    """End what this scheduler recorded and what does not exist any more; return the jobs that this changes."""
    uids = f"(SELECT uid FROM {database.elements((('uid', 'TEXT'),))} AS src)"  # noqa: S608
    own = "SELECT uid FROM jobs WHERE scheduler = ?"
    gone_pods, gone_jobs = _json([(uid,) for uid in pods]), _json([(uid,) for uid in jobs])
    changed = database.rows(
        f"SELECT DISTINCT job FROM pods WHERE ended IS NULL AND job IN ({own}) AND uid NOT IN {uids}",  # noqa: S608
        scheduler, gone_pods,
    )  # fmt: skip
    database.execute(
        f"UPDATE pods SET ended = ?, outcome = COALESCE(outcome, '{UNKNOWN}') "  # noqa: S608
        f"WHERE ended IS NULL AND job IN ({own}) AND uid NOT IN {uids}",
        now, scheduler, gone_pods,
    )  # fmt: skip
    missing = database.rows(
        f"SELECT uid FROM jobs WHERE deleted IS NULL AND scheduler = ? AND uid NOT IN {uids}",  # noqa: S608
        scheduler, gone_jobs,
    )  # fmt: skip
    deleted = [(row[0],) for row in missing]
    database.execute(f"UPDATE jobs SET deleted = ? WHERE uid IN {uids}", now, _json(deleted))  # noqa: S608
    return {row[0] for row in (*changed, *missing)}


# -- bounds -----------------------------------------------------------------------------------------------------


def remove_before(database: Database, moment: float) -> int:
    """Remove jobs that ended before a moment, with their pods, and old pods of others; return the number of jobs."""
    with database.transaction():
        database.execute(
            "DELETE FROM pods WHERE ended < ? OR job IN (SELECT uid FROM jobs WHERE ended < ?)", moment, moment
        )
        return database.execute("DELETE FROM jobs WHERE ended < ?", moment)


def oldest_part(database: Database, part: float) -> float | None:
    """Return the moment before which this part of the ended jobs has ended; None if none has."""
    count = int(database.rows("SELECT count(*) FROM jobs WHERE ended IS NOT NULL")[0][0])
    if not count:
        return None
    found = database.rows(
        "SELECT ended FROM jobs WHERE ended IS NOT NULL ORDER BY ended LIMIT 1 OFFSET ?", int((count - 1) * part)
    )
    return float(found[0][0])


def _json(rows: Sequence[Sequence[Any]] | Sequence[msgspec.Struct]) -> str:
    """Return rows of columns as JSON, without NUL characters: users choose some of these texts, and PostgreSQL would
    reject them together with the records of others.
    """
    text = msgspec.json.encode(rows).decode()
    if "\\u0000" not in text:
        return text
    columns = ([_without_nul(value) for value in row] for row in msgspec.to_builtins(rows))
    return msgspec.json.encode(list(columns)).decode()


def _without_nul(value: object) -> object:
    return value.replace("\0", "") if isinstance(value, str) else value
