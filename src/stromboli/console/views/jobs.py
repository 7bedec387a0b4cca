"""Jobs as pages of rows, and as a table by column with changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from stromboli.console.cache.frames import JobDelta
from stromboli.console.cache.job_rows import ListedJob
from stromboli.console.documents.jobs import ConsoleJob, JobColumns, JobListing, JobListingChanges, JobRowsPage
from stromboli.console.views.view import PersonView

_LIMIT, _MAX_LIMIT = 100, 1_000
#: Of numbers in a query.
_MAX_DIGITS = 20

_SORTS: Mapping[str, Callable[[ListedJob], Any]] = {
    "created": lambda row: row.entry.created,
    "namespace": lambda row: row.entry.namespace,
    "job": lambda row: row.entry.name,
    "queue": lambda row: row.entry.queue,
    "phase": lambda row: row.entry.phase,
    "priority": lambda row: row.entry.priority,
    "position": lambda row: (row.entry.position is None, row.entry.position or 0),
}


@dataclass(frozen=True, slots=True)
class WantedRows:
    """The parameters of a query. Empty conditions do not apply."""

    namespace: str = ""
    queues: frozenset[str] = frozenset()
    phases: frozenset[str] = frozenset()
    reason: str = ""
    owner: str = ""
    search: str = ""
    is_waiting: bool = False
    sort: str = "namespace"
    is_descending: bool = False
    offset: int = 0
    limit: int = _LIMIT

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> WantedRows:
        """Raises ValueError."""
        sort = query.get("sort", "namespace")
        if sort.removeprefix("-") not in _SORTS:
            raise ValueError(f"sort {sort!r} is not one of {', '.join(_SORTS)}")
        return cls(
            query.get("namespace", ""), _entries(query, "queue"), _entries(query, "phase"),
            query.get("reason", "").lower(), query.get("owner", ""), query.get("search", "").lower(),
            query.get("waiting", "") == "true", sort.removeprefix("-"), sort.startswith("-"),
            whole_number(query, "offset", 0, 1 << 31), whole_number(query, "limit", _LIMIT, _MAX_LIMIT),
        )  # fmt: skip

    def matches(self, row: ListedJob) -> bool:
        entry = row.entry
        return (
            (not self.namespace or entry.namespace == self.namespace)
            and (not self.queues or entry.queue in self.queues)
            and (not self.phases or entry.phase in self.phases)
            and (not self.owner or row.owner == self.owner)
            and (not self.is_waiting or entry.waits)
        )

    def contains(self, row: ListedJob, reason: str) -> bool:
        """Report whether the texts of a row contain those of the query; `reason` is the one that is shown."""
        if self.reason not in reason.lower():
            return False
        entry = row.entry
        texts = (entry.name, entry.namespace, entry.queue, row.owner, reason)
        return not self.search or any(self.search in text.lower() for text in texts)


def _entries(query: Mapping[str, str], name: str) -> frozenset[str]:
    return frozenset(filter(None, query.get(name, "").split(",")))


def whole_number(query: Mapping[str, str], name: str, default: int, highest: int) -> int:
    """Return a parameter of a query. Raises ValueError."""
    text = query.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or len(text) > _MAX_DIGITS or int(text) > highest:
        raise ValueError(f"{name} {text[:20]!r} is not a whole number from 0 to {highest}")
    return int(text)


def job_rows(view: PersonView, wanted: WantedRows) -> JobRowsPage:
    """Return a page of rows. Hidden jobs are counted without the conditions, so that no condition finds their names."""
    matching = [row for _, row in view.rows() if wanted.matches(row)]
    shown = _shown(view, {row.entry.reason for row in matching})
    chosen = [row for row in matching if wanted.contains(row, shown[row.entry.reason])]
    chosen.sort(key=_SORTS[wanted.sort], reverse=wanted.is_descending)
    page = chosen[wanted.offset : wanted.offset + wanted.limit]
    return JobRowsPage(
        instance=view.instance, version=view.frame.version, jobs=[job_document(view, row) for row in page],
        total=len(chosen), offset=wanted.offset, hidden=view.hidden(),
    )  # fmt: skip


def job_document(view: PersonView, row: ListedJob) -> ConsoleJob:
    """Return a job as `stromboli jobs` shows it."""
    document = msgspec.structs.asdict(row.entry.as_document())
    return ConsoleJob(**{**document, "reason": view.text(row.entry.reason)}, owner=row.owner, kind=row.kind)


def job_table(view: PersonView) -> JobListing:
    """Return all jobs by column."""
    return JobListing(
        instance=view.instance, version=view.frame.version, columns=_columns(view, view.rows()), hidden=view.hidden()
    )


def job_changes(view: PersonView, base: int, delta: JobDelta) -> JobListingChanges:
    """Return the changes since a version."""
    rows, may_read = view.frame.rows, view.rights.may_read
    changed = [(key, rows[key]) for key in sorted(delta.changed) if view.may_read(rows[key])]
    return JobListingChanges(
        instance=view.instance, base=base, version=delta.version, changed=_columns(view, changed),
        removed=sorted(key for key in delta.removed if may_read(key.partition("/")[0])), hidden=view.hidden(),
    )  # fmt: skip


class _Texts:
    """Texts of columns, each once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def numbers(self, texts: Iterable[str]) -> list[int]:
        return [self._numbers.setdefault(text, len(self._numbers)) for text in texts]

    def all(self) -> list[str]:
        return list(self._numbers)


def _columns(view: PersonView, rows: Iterable[tuple[str, ListedJob]]) -> JobColumns:
    found: Sequence[tuple[str, ListedJob]] = list(rows)
    entries = [row.entry for _, row in found]
    shown = _shown(view, {entry.reason for entry in entries})
    texts = _Texts()
    queues, phases = texts.numbers(each.queue for each in entries), texts.numbers(each.phase for each in entries)
    reasons = texts.numbers(shown[each.reason] for each in entries)
    owners, kinds = texts.numbers(row.owner for _, row in found), texts.numbers(row.kind for _, row in found)
    return JobColumns(
        keys=[key for key, _ in found], names=[each.name for each in entries], queues=queues, phases=phases,
        ready=[each.ready for each in entries], minimum=[each.minimum for each in entries],
        priorities=[each.priority for each in entries], positions=[each.position or 0 for each in entries],
        reasons=reasons, owners=owners, kinds=kinds, created=[int(each.created) for each in entries],
        earliest=[int(each.expected[0]) if each.expected else 0 for each in entries],
        latest=[int((each.expected and each.expected[1]) or 0) for each in entries], texts=texts.all(),
    )  # fmt: skip


def _shown(view: PersonView, reasons: Collection[str]) -> Mapping[str, str]:
    return {reason: view.text(reason) for reason in reasons}
