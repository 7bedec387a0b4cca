"""Resource-seconds of a period, exactly: whole microseconds of runs, times whole amounts of requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from stromboli.history.databases.database import Database
from stromboli.history.usage.requests import amounts_of

#: What usage is summed up by, and the column of each.
DIMENSIONS = {
    "queue": "a.queue", "user": "a.user_name", "namespace": "a.namespace", "job": "a.namespace || '/' || j.title",
}  # fmt: skip
_MICROSECONDS = 1_000_000
#: The part of a run within the period.
_SECONDS = (
    "(CASE WHEN p.ended IS NULL OR p.ended > ? THEN ? ELSE p.ended END "
    "- CASE WHEN p.started < ? THEN ? ELSE p.started END)"
)


@dataclass(slots=True)
class UsageEntry:
    """What pods have used that have these properties in common."""

    #: By dimension.
    key: dict[str, str]
    runs: int = 0
    pod_seconds: Fraction = Fraction(0)
    #: By resource name: processors, bytes, devices, times seconds.
    resource_seconds: dict[str, Fraction] = field(default_factory=dict)

    def add(self, runs: int, seconds: Fraction, requests: str) -> None:
        used = {name: amount * seconds for name, amount in amounts_of(requests)}
        self.include(UsageEntry({}, runs, seconds, used))

    def include(self, other: UsageEntry) -> None:
        """Add the usage of another entry."""
        self.runs += other.runs
        self.pod_seconds += other.pod_seconds
        for name, seconds in other.resource_seconds.items():
            self.resource_seconds[name] = self.resource_seconds.get(name, Fraction(0)) + seconds


def usage_of(
    database: Database, since: float, until: float, by: Sequence[str], only: Mapping[str, str] | None = None
) -> list[UsageEntry]:
    """Return the usage between two moments, by dimensions, in their order. Runs that have not ended count until the
    end. `only` are values that dimensions must have. Raises HistoryError.
    """
    chosen = only or {}
    conditions = "".join(f" AND {DIMENSIONS[name]} = ?" for name in chosen)
    columns = ", ".join(DIMENSIONS[name] for name in by)
    tables = "pods AS p JOIN accounts AS a ON p.account = a.id"
    if "job" in by:
        tables += " JOIN jobs AS j ON p.job = j.uid"
    rows = database.rows(
        f"SELECT count(*), sum(CAST(round({_SECONDS} * {_MICROSECONDS}) AS BIGINT)), a.requests, {columns} "  # noqa: S608
        f"FROM {tables} WHERE p.started < ? AND (p.ended > ? OR p.ended IS NULL){conditions} "
        f"GROUP BY a.requests, {columns}",
        until, until, since, since, until, since, *chosen.values(),
    )  # fmt: skip
    entries: dict[tuple[str, ...], UsageEntry] = {}
    for runs, microseconds, requests, *values in rows:
        key = tuple(values)
        entry = entries.get(key)
        if entry is None:
            entry = entries[key] = UsageEntry(dict(zip(by, key, strict=True)))
        entry.add(int(runs), Fraction(int(microseconds), _MICROSECONDS), requests)
    return [entries[key] for key in sorted(entries)]
