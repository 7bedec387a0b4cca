"""The page of one job, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from stromboli.cli.output import escape_controls
from stromboli.cli.text.ages import age_of
from stromboli.cli.text.plan import counted, format_nodes
from stromboli.cli.text.tables import Table, aligned, bold
from stromboli.core.model.values.times import format_timestamp

if TYPE_CHECKING:
    from stromboli.cli.text.cluster.history import JobAttempts
    from stromboli.planner.overview.job_page import JobPage, PodEntry

#: Pods that are listed without `-o wide`.
_MAX_PODS = 20


def echo_job(page: JobPage, now: float, *, wide: bool) -> None:
    entry = page.entry
    click.echo(bold(escape_controls(f"{entry.namespace}/{entry.name}: {entry.phase or 'no status'}")))
    facts = list(_facts(page, now, wide=wide))
    width = max(len(title) for title, _ in facts)
    for title, text in facts:
        click.echo(f"  {title.ljust(width)}  {escape_controls(text)}")
    lines = _pod_lines(page.pods, now, len(page.pods) if wide else _MAX_PODS)
    if lines:
        click.echo(f"\n  {bold('Pods')}")
    for line in lines:
        click.echo(f"    {line}")


def echo_history(recorded: Sequence[JobAttempts], *, wide: bool) -> None:
    """Print what was recorded about the job: starts, evictions, failures."""
    from stromboli.cli.text.cluster.history import timeline
    from stromboli.history.events import events_of

    events = [event for job, pods in recorded for event in events_of(job, pods)]
    if not events:
        return
    click.echo(f"\n  {bold('History')}")
    table = timeline(events, wide=wide)
    for line in aligned(table if wide else table.narrow()):
        click.echo(f"    {line}")


def _facts(page: JobPage, now: float, *, wide: bool) -> Iterator[tuple[str, str]]:
    entry = page.entry
    group = entry.key.partition("/")[2]
    if group != entry.name or wide:
        yield "PodGroup", group
    if wide:
        yield "Labels", ", ".join(f"{key}={value}" for key, value in entry.labels.items()) or "-"
    place = f", position {entry.position} of {page.waiting_in_queue}" if entry.position else ""
    yield "Queue", f"{entry.queue}{place}"
    yield "Priority", str(entry.priority)
    ready = "-" if entry.ready is None else str(entry.ready)
    yield "Ready", f"{ready} of {counted(len(page.pods), 'pod')}, {entry.minimum} must start together"
    yield "Age", age_of(entry.created, now)
    if entry.expected is not None:
        yield "Starts", _expected(entry.expected)
    if entry.reason:
        yield "Reason", entry.reason
    if page.eviction:
        yield "Evicted", page.eviction
    if page.next_nodes:
        number = sum(page.next_nodes.values())
        yield "Next cycle", f"places {counted(number, 'pod')} on {format_nodes(page.next_nodes)}"


def _expected(range_of_start: tuple[float, float | None]) -> str:
    earliest, latest = range_of_start
    if latest is None:
        return f"not before {format_timestamp(earliest)}; the run times of other jobs are unknown"
    return f"between {format_timestamp(earliest)} and {format_timestamp(latest)}"


def _pod_lines(pods: Sequence[PodEntry], now: float, limit: int) -> list[str]:
    if not pods:
        return []
    table = Table(("POD", "STATUS", "NODE", "AGE"), right=("AGE",), note_header="")
    for pod in pods[:limit]:
        table.add(pod.name, pod.status, pod.node or "-", age_of(pod.created, now), note=pod.note)
    left = len(pods) - limit
    return [*aligned(table), *([f"and {counted(left, 'more pod')}"] if left > 0 else [])]
