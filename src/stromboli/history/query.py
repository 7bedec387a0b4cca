"""Queries of a history: a filter in, plain rows out. Commands and endpoints use the same functions."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.history.databases.database import Database

STATES = ("Pending", "Running", "Succeeded", "Failed", "Evicted", "Suspended", "Cancelled", "Unknown")
"""States of jobs. Unknown: it ended while no scheduler recorded."""


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """All conditions apply; an empty one does not."""

    namespace: str = ""
    #: The name of the PodGroup or of its owner, such as a Job.
    job: str = ""
    queue: str = ""
    states: frozenset[str] = frozenset()
    #: Only jobs that waited or ran at this time or later.
    since: float | None = None
    #: The latest jobs only.
    limit: int | None = None


class JobHistory(msgspec.Struct, rename="camel"):
    """A job with its counts. Times are seconds since the epoch."""

    uid: str
    namespace: str
    #: The name of the owner if the PodGroup was created for it, else that of the PodGroup.
    name: str
    pod_group: str
    queue: str
    owner_kind: str
    owner_name: str
    user: str
    priority_class: str
    min_member: int
    state: str
    submitted: float
    #: When its minimum was placed for the first time, and when its last pod ended.
    started: float | None
    ended: float | None
    pods: int
    starts: int
    running: int
    evictions: int
    failures: int
    template: str | None = None
    #: Requests of its pods at a time, summed up, by resource name.
    requests: dict[str, float] = {}

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def waited(self, now: float) -> float:
        """Return the seconds until its start, or so far."""
        end = self.started if self.started is not None else self.ended
        return max((now if end is None else end) - self.submitted, 0.0)

    def ran(self, now: float) -> float | None:
        """Return the seconds from its start to its end, or so far; None if it has not started."""
        return None if self.started is None else max((now if self.ended is None else self.ended) - self.started, 0.0)


class PodHistory(msgspec.Struct, rename="camel"):
    """One attempt to run one member of a job."""

    name: str
    uid: str
    node: str | None
    created: float | None
    started: float | None
    ended: float | None
    outcome: str | None
    cause: str | None
    evicted: float | None
    reason: str | None
    preemptor: str | None


@dataclass(slots=True)
class HistoryPage:
    """Rows that may be read, oldest first, and the number of others by state."""

    jobs: list[JobHistory]
    hidden: dict[str, int] = field(default_factory=dict)
    #: Jobs that match, and are earlier than those within the limit.
    earlier: int = 0


_JOB_FIELDS = (
    "uid", "namespace", "name", "title", "queue", "owner_kind", "owner_name", "user_name", "priority_class",
    "min_member", "state", "created", "started", "ended", "pods", "starts", "running", "evictions", "failures",
    "template",
)  # fmt: skip


def query(database: Database, wanted: HistoryFilter, readable: Collection[str] | None = None) -> HistoryPage:
    """Return the jobs of readable namespaces that match, oldest first; None for all. Raises HistoryError.

    `limit` keeps the latest of them. Jobs of other namespaces are counted by the time alone, so that no other condition
    finds their names.
    """
    where, parameters = _conditions(wanted)
    others: dict[str, int] = {}
    if readable is not None:
        others = _hidden(database, wanted, readable)
        where, parameters = f"{where} AND namespace IN {_names(database)}", [*parameters, _encoded(readable)]
    limit, limits = ("", []) if wanted.limit is None else (" LIMIT ?", [wanted.limit])
    rows = database.rows(
        f"SELECT {', '.join(_JOB_FIELDS)} FROM jobs WHERE {where} ORDER BY created DESC, name DESC{limit}",  # noqa: S608
        *parameters, *limits,
    )  # fmt: skip
    found = [_job(dict(zip(_JOB_FIELDS, row, strict=True))) for row in reversed(rows)]
    _add_requests(database, found)
    is_full = wanted.limit is not None and len(rows) == wanted.limit
    earlier = _count(database, where, parameters) - len(rows) if is_full else 0
    return HistoryPage(found, others, earlier)


def _hidden(database: Database, wanted: HistoryFilter, readable: Collection[str]) -> dict[str, int]:
    where, parameters = _conditions(HistoryFilter(since=wanted.since))
    rows = database.rows(
        f"SELECT state, count(*) FROM jobs WHERE {where} AND namespace NOT IN {_names(database)} "  # noqa: S608
        "GROUP BY state ORDER BY state",
        *parameters, _encoded(readable),
    )  # fmt: skip
    return {str(state): int(count) for state, count in rows}


def _names(database: Database) -> str:
    return f"(SELECT namespace FROM {database.elements((('namespace', 'TEXT'),))} AS src)"  # noqa: S608


def _encoded(readable: Collection[str]) -> str:
    return msgspec.json.encode([(name,) for name in sorted(readable)]).decode()


def _count(database: Database, where: str, parameters: Sequence[object]) -> int:
    return int(database.rows(f"SELECT count(*) FROM jobs WHERE {where}", *parameters)[0][0])  # noqa: S608


def pods_of(database: Database, job: str) -> list[PodHistory]:
    """Return the attempts of a job, by its uid, in the order of their starts."""
    names = PodHistory.__struct_fields__
    rows = database.rows(
        f"SELECT {', '.join(names)} FROM pods WHERE job = ? ORDER BY COALESCE(started, created), name",  # noqa: S608
        job,
    )
    return [PodHistory(*row) for row in rows]


def _conditions(wanted: HistoryFilter) -> tuple[str, list[object]]:
    clauses: list[str] = ["true"]
    parameters: list[object] = []
    if wanted.namespace:
        clauses.append("namespace = ?")
        parameters.append(wanted.namespace)
    if wanted.job:
        clauses.append("(name = ? OR title = ? OR owner_name = ?)")
        parameters += [wanted.job] * 3
    if wanted.queue:
        clauses.append("queue = ?")
        parameters.append(wanted.queue)
    if wanted.states:
        clauses.append(f"state IN ({', '.join('?' * len(wanted.states))})")
        parameters += sorted(wanted.states)
    if wanted.since is not None:
        clauses.append("(ended IS NULL OR ended >= ?)")
        parameters.append(wanted.since)
    return " AND ".join(clauses), parameters


def _job(row: dict[str, Any]) -> JobHistory:
    shared = ("uid", "namespace", "queue", "owner_kind", "owner_name", "priority_class", "min_member", "state",
              "started", "ended", "pods", "starts", "running", "evictions", "failures", "template")  # fmt: skip
    return JobHistory(
        name=row["title"], pod_group=row["name"], user=row["user_name"], submitted=row["created"],
        **{field: row[field] for field in shared},
    )  # fmt: skip


def _add_requests(database: Database, jobs: Sequence[JobHistory]) -> None:
    """Sum up the requests of the pods of a job, without the attempts that were evicted or failed."""
    if not jobs:
        return
    uids = database.elements((("uid", "TEXT"),))
    rows = database.rows(
        "SELECT job, requests, count(*), count(*) FILTER (WHERE evicted IS NULL AND COALESCE(outcome, '') <> 'Failed') "  # noqa: S608
        f"FROM pods WHERE job IN (SELECT uid FROM {uids} AS src) AND requests IS NOT NULL GROUP BY job, requests",
        msgspec.json.encode([(job.uid,) for job in jobs]).decode(),
    )
    by_uid = {job.uid: job for job in jobs}
    for uid, requests, attempts, useful in rows:
        job = by_uid[uid]
        job.requests = _sum(job.requests, requests, useful or min(attempts, max(job.min_member, 1)))


def _sum(before: dict[str, float], requests: str, count: int) -> dict[str, float]:
    after = dict(before)
    for name, amount in _amounts(requests):
        after[name] = after.get(name, 0.0) + amount * count
    return after


def _amounts(requests: str) -> Iterable[tuple[str, float]]:
    for name, text in json.loads(requests).items():
        yield name, parse_quantity(str(text), milli=True) / 1000
