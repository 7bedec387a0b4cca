"""Jobs of the past, from the history that a scheduler records. It is read in a thread, with a connection per query."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from stromboli.console.documents.history import HistoryRows
from stromboli.console.documents.job import JobAttempts, TimelineEvent
from stromboli.console.views.jobs import whole_number
from stromboli.core.model.usage.budgets import Budget, BudgetState
from stromboli.history.databases.opening import open_for_reading
from stromboli.history.events import HistoryEvent, events_of
from stromboli.history.query import STATES, HistoryFilter, HistoryPage, JobHistory, PodHistory, pods_of, query
from stromboli.history.usage.budgets import budget_states
from stromboli.history.usage.reports import UsageEntry, usage_of

_LIMIT, _MAX_LIMIT = 200, 2_000
#: Attempts of one job.
_MAX_ATTEMPTS = 50
#: Names of events, as the API has them.
_EVENTS = {"submitted": "Submitted", "started": "Started", "evicted": "Evicted", "failed": "Failed"}
_ENDED = "Ended"


def wanted_history(parameters: Mapping[str, str]) -> HistoryFilter:
    """Return the filter of a query. Raises ValueError."""
    states = frozenset(filter(None, parameters.get("state", "").split(",")))
    if unknown := sorted(states - set(STATES)):
        raise ValueError(f"unknown states {', '.join(unknown)}; known: {', '.join(STATES)}")
    return HistoryFilter(
        namespace=parameters.get("namespace", ""), job=parameters.get("job", ""), queue=parameters.get("queue", ""),
        states=states, since=seconds(parameters, "since"),
        limit=max(whole_number(parameters, "limit", _LIMIT, _MAX_LIMIT), 1),
    )  # fmt: skip


def seconds(parameters: Mapping[str, str], name: str) -> float | None:
    """Return a time of a query; None without it. Raises ValueError."""
    text = parameters.get(name, "")
    try:
        found = float(text) if text else None
    except ValueError:
        found = float("nan")
    if found is not None and not -1e12 < found < 1e12:
        raise ValueError(f"{name} {text[:20]!r} is not a time in seconds since the epoch")
    return found


@dataclass(frozen=True, slots=True)
class UsageFacts:
    """Usage between two moments, by queue without its children, and states of budgets."""

    since: float
    until: float
    own: Mapping[str, UsageEntry]
    budgets: Sequence[BudgetState]


class HistoryReader:
    """Reads a history; methods are for a thread. Raises HistoryError."""

    def __init__(self, address: str) -> None:
        self._address = address

    def namespaces(self) -> list[str]:
        with closing(open_for_reading(self._address)) as database:
            return [str(row[0]) for row in database.rows("SELECT DISTINCT namespace FROM jobs")]

    def jobs(self, wanted: HistoryFilter, readable: Collection[str] | None) -> HistoryPage:
        with closing(open_for_reading(self._address)) as database:
            return query(database, wanted, readable)

    def usage(
        self, since: float, now: float, budgets: Mapping[str, Sequence[Budget]], families: Mapping[str, Collection[str]]
    ) -> UsageFacts:
        """Return what queues have used since a moment, and the state of budgets, both by queue. `families` are queues
        with their descendants.
        """
        with closing(open_for_reading(self._address)) as database:
            own = {entry.key["queue"]: entry for entry in usage_of(database, since, now, ("queue",))}
            states = [
                state
                for queue, each in budgets.items()
                for budget in each
                for state in budget_states(database, queue, families.get(queue, {queue}), budget, now)
            ]
        return UsageFacts(since, now, own, states)

    def attempts(self, namespace: str, job: str) -> tuple[Sequence[JobHistory], Sequence[PodHistory]]:
        """Return the attempts of a job, the latest first, and the pods of the latest."""
        with closing(open_for_reading(self._address)) as database:
            found = query(database, HistoryFilter(namespace=namespace, job=job, limit=_MAX_ATTEMPTS)).jobs[::-1]
            return found, pods_of(database, found[0].uid) if found else ()


def history_rows(page: HistoryPage, now: float) -> HistoryRows:
    return HistoryRows(jobs=page.jobs, hidden=page.hidden, earlier=page.earlier, time=now)


def job_attempts(
    jobs: Sequence[JobHistory], pods: Sequence[PodHistory], now: float, hide: Callable[[str], str]
) -> JobAttempts:
    """Return what happened to a job. `hide` removes the names of others."""
    shown = [_readable(pod, hide) for pod in pods]
    timeline = [each for event in events_of(jobs[0], shown) for each in _timeline(event)] if jobs else []
    return JobAttempts(jobs=list(jobs), pods=shown, timeline=timeline, time=now)


def _readable(pod: PodHistory, hide: Callable[[str], str]) -> PodHistory:
    texts = {name: hide(text) for name in ("cause", "reason") if (text := getattr(pod, name))}
    if pod.preemptor:
        texts["preemptor"] = hide(f"for {pod.preemptor}").removeprefix("for ")
    return PodHistory(**{**{name: getattr(pod, name) for name in PodHistory.__struct_fields__}, **texts})


def _timeline(event: HistoryEvent) -> Iterator[TimelineEvent]:
    what = _EVENTS.get(event.what, _ENDED)
    message = event.details if what != _ENDED or not event.details else f"{event.what}: {event.details}"
    for pod in event.pods or ("",):
        node = event.nodes[0] if len(event.nodes) == 1 else ""
        yield TimelineEvent(time=event.moment, what=what, pod=pod, node=node, message=message or event.what)
