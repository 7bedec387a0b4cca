"""The history of jobs in every output format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

import click
import msgspec

from stromboli.cli.output import Printout, job_name
from stromboli.cli.text.changes import ChangedRows, RowFormat
from stromboli.cli.text.tables import Table, bold, echo_table
from stromboli.core.model.values.times import format_timestamp
from stromboli.history.events import HistoryEvent, events_of
from stromboli.history.query import STATES, HistoryPage, JobHistory, PodHistory
from stromboli.local.discovery.printers.durations import human_duration

COLOURS = {
    "Succeeded": "green", "Running": "cyan", "Failed": "red",
    "Evicted": "yellow", "Suspended": "dim", "Cancelled": "dim",
}  # fmt: skip
_WIDE = ("POD GROUP", "OWNER", "USER", "PRIORITY CLASS", "MIN", "REQUESTS", "STARTED", "ENDED")
_NUMBERS = ("PODS", "MIN", "WAITED", "RAN", "EVICTIONS", "FAILURES")
_MAX_NODES = 4
_BYTES = ("memory", "ephemeral-storage")

JobAttempts = tuple[JobHistory, Sequence[PodHistory]]
"""A job with its attempts."""


# -- many jobs --------------------------------------------------------------------------------------------------------


def jobs_printout(page: HistoryPage, now: float, *, shows_namespaces: bool) -> Printout:
    return Printout(
        tables=lambda wide: _echo_jobs(page, now, wide=wide, shows_namespaces=shows_namespaces),
        data=lambda: {
            "jobs": [_document(job, now) for job in page.jobs],
            "hidden": page.hidden,
            "earlier": page.earlier,
        },
        names=lambda: (job_name(f"{job.namespace}/{job.pod_group}") for job in page.jobs),
    )


def _echo_jobs(page: HistoryPage, now: float, *, wide: bool, shows_namespaces: bool) -> None:
    if page.jobs:
        table = _table(page.jobs, now)
        if not shows_namespaces:
            table.wide = (*table.wide, "NAMESPACE")
        echo_table(table, wide=wide)
    elif not page.hidden:
        click.echo("the history has no such jobs")
    if page.earlier:
        click.echo(f"earlier jobs that are not shown: {page.earlier}; --limit 0 shows all", err=True)
    if page.hidden:
        click.echo(f"jobs of namespaces that you may not read: {_numbers(page.hidden)}")


def job_changes(output: str, now: Callable[[], float], *, shows_namespaces: bool) -> ChangedRows[JobHistory]:
    """Print the jobs that change."""

    def table(job: JobHistory) -> Table:
        made = _table([job], now())
        return made if shows_namespaces else replace(made, wide=(*made.wide, "NAMESPACE"))

    form = RowFormat[JobHistory](
        key=lambda job: job.uid,
        table=table,
        plain=lambda job: _document(job, now()),
        name=lambda job: job_name(f"{job.namespace}/{job.pod_group}"),
        widest={"STATE": max(map(len, STATES))},
    )
    return ChangedRows(form, output)


def _numbers(hidden: dict[str, int]) -> str:
    return ", ".join(f"{number} {state}" for state, number in sorted(hidden.items()))


def _table(jobs: Iterable[JobHistory], now: float) -> Table:
    table = Table(
        ("NAMESPACE", "JOB", "QUEUE", "STATE", "PODS", "SUBMITTED", "WAITED", "RAN", "EVICTIONS", "FAILURES", *_WIDE),
        wide=_WIDE, right=_NUMBERS, flexible=("JOB",), colours=COLOURS,
    )  # fmt: skip
    for job in jobs:
        owner = f"{job.owner_kind}/{job.owner_name}" if job.owner_name else "-"
        table.add(
            job.namespace, job.name, job.queue, job.state, str(job.pods), format_timestamp(job.submitted),
            human_duration(job.waited(now)), _span(job.ran(now)), str(job.evictions), str(job.failures),
            job.pod_group, owner, job.user or "-", job.priority_class or "-", str(job.min_member),
            _requests(job.requests), _moment(job.started), _moment(job.ended),
        )  # fmt: skip
    return table


def _document(job: JobHistory, now: float) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(job)
    times = {name: _stamp(document[name]) for name in ("submitted", "started", "ended")}
    return {**document, **times, "waitedSeconds": round(job.waited(now), 3), "ranSeconds": job.ran(now)}


# -- one job ----------------------------------------------------------------------------------------------------------


def job_printout(jobs: Sequence[JobAttempts], now: float) -> Printout:
    """Return everything about jobs of one name, oldest first."""
    return Printout(
        tables=lambda wide: _echo_details(jobs, now, wide=wide),
        data=lambda: {"jobs": recorded_as_plain(jobs, now), "hidden": {}},
        names=lambda: (job_name(f"{job.namespace}/{job.pod_group}") for job, _ in jobs),
    )


def recorded_as_plain(jobs: Sequence[JobAttempts], now: float) -> list[dict[str, Any]]:
    """Return the jobs with their attempts for JSON and YAML."""
    return [_detailed(job, pods, now) for job, pods in jobs]


def _detailed(job: JobHistory, pods: Sequence[PodHistory], now: float) -> dict[str, Any]:
    documents: list[dict[str, Any]] = msgspec.to_builtins(pods)
    for document in documents:
        document.update({name: _stamp(document[name]) for name in ("created", "started", "ended", "evicted")})
    return {**_document(job, now), "attempts": documents}


def _echo_details(jobs: Sequence[JobAttempts], now: float, *, wide: bool) -> None:
    for number, (job, pods) in enumerate(jobs):
        if number:
            click.echo()
        click.echo(bold(job.key))
        _echo_facts(job, now)
        echo_table(timeline(events_of(job, pods), wide=wide), wide=wide)


def _echo_facts(job: JobHistory, now: float) -> None:
    owner = f"{job.owner_kind} {job.owner_name}" if job.owner_name else ""
    facts = (
        ("state", job.state), ("queue", job.queue), ("owner", owner), ("user", job.user),
        ("priority", job.priority_class), ("pods", f"{job.pods}, at least {job.min_member} together"),
        ("requests", _requests(job.requests)), ("waited", human_duration(job.waited(now))),
        ("ran", _span(job.ran(now))), ("evictions", str(job.evictions)), ("failures", str(job.failures)),
    )  # fmt: skip
    for name, value in facts:
        if value and value != "-":
            click.echo(f"  {name + ':':<11}{value}")


def timeline(events: Sequence[HistoryEvent], *, wide: bool) -> Table:
    """Return a row for every event."""
    table = Table(
        ("TIME", "EVENT", "PODS", "NODES", "DETAILS", "NAMES"), wide=("NAMES",), right=("PODS",),
        flexible=("NODES", "DETAILS", "NAMES"), colours={"evicted": "yellow", "failed": "red", "started": "cyan"},
    )  # fmt: skip
    for event in events:
        nodes = event.nodes if wide else event.nodes[:_MAX_NODES]
        more = f" and {len(event.nodes) - len(nodes)} more" if len(nodes) < len(event.nodes) else ""
        table.add(
            format_timestamp(event.moment), event.what, str(len(event.pods)) if event.pods else "-",
            ", ".join(nodes) + more or "-", event.details or "-", ", ".join(event.pods) or "-",
        )  # fmt: skip
    return table


def event_changes(output: str) -> ChangedRows[HistoryEvent]:
    """Print events as they are recorded; one with further pods of the same second is printed again."""
    form = RowFormat[HistoryEvent](
        key=lambda event: (int(event.moment), event.what, event.details),
        table=lambda event: timeline([event], wide=True),
        plain=lambda event: {**asdict(event), "moment": _stamp(event.moment)},
        name=lambda event: f"{event.what}/{_stamp(event.moment)}",
        widest={"EVENT": len("succeeded"), "PODS": 4},
    )
    return ChangedRows(form, output)


def _requests(requests: dict[str, float]) -> str:
    """Describe the requests of all pods at a time."""
    return ", ".join(f"{name} {_amount(name, amount)}" for name, amount in sorted(requests.items())) or "-"


def _amount(name: str, amount: float) -> str:
    if name in _BYTES or name.startswith("hugepages-"):
        return f"{amount / (1 << 30):.4g}Gi"
    return f"{amount:g}"


def _span(seconds: float | None) -> str:
    return "-" if seconds is None else human_duration(seconds)


def _moment(seconds: float | None) -> str:
    return "-" if seconds is None else format_timestamp(seconds)


def _stamp(seconds: float | None) -> str | None:
    return None if seconds is None else format_timestamp(seconds)
