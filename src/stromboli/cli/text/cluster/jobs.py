"""Jobs in every output format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import click

from stromboli.cli.options.listing import ListingScope
from stromboli.cli.output import Printout, job_name
from stromboli.cli.text.ages import age_of, short_duration
from stromboli.cli.text.changes import ChangedRows, RowFormat
from stromboli.cli.text.tables import Table, echo_table
from stromboli.planner.overview.job_list import JobEntry

PHASE_COLOURS = {
    "Running": "green", "Completed": "dim", "Inqueue": "yellow", "Pending": "yellow", "Unknown": "red", "Deleted": "dim"
}  # fmt: skip
_WIDE = ("PRIORITY", "PODGROUP")
_HEADER = ("NAMESPACE", "JOB", "QUEUE", "PHASE", "READY", "POSITION", "STARTS", "AGE", *_WIDE)


def jobs_table(jobs: Sequence[JobEntry], now: float, *, with_namespace: bool) -> Table:
    header = _HEADER if with_namespace else _HEADER[1:]
    table = Table(
        header, wide=_WIDE, right=("READY", "POSITION", "STARTS", "AGE", "PRIORITY"), colours=PHASE_COLOURS,
        note_header="REASON",
    )  # fmt: skip
    for job in jobs:
        cells = (
            job.namespace, job.name, job.queue, job.phase or "-", ready_of(job), str(job.position or "-"),
            expected_start(job, now), age_of(job.created, now), str(job.priority), job.key.partition("/")[2],
        )  # fmt: skip
        table.add(*(cells if with_namespace else cells[1:]), note=job.reason)
    return table


def expected_start(job: JobEntry, now: float) -> str:
    """Return when a job is expected to start, from now: `15m-2h`, `after 30m`; `-` without a forecast."""
    if job.expected is None:
        return "-"
    earliest, latest = job.expected
    first = short_duration(earliest - now)
    if latest is None:
        return f"after {first}" if earliest > now else "unknown"
    last = short_duration(latest - now)
    return last if first == last else f"{first}-{last}"


def ready_of(job: JobEntry) -> str:
    """Return the pods that are ready, of those that must start together: `3/4`."""
    return f"{'-' if job.ready is None else job.ready}/{job.minimum}"


def jobs_printout(jobs: Sequence[JobEntry], scope: ListingScope, now: float, warnings: Sequence[str]) -> Printout:
    def tables(wide: bool) -> None:
        if jobs:
            echo_table(jobs_table(jobs, now, with_namespace=not scope.namespace), wide=wide)
        else:
            click.echo(f"no jobs {scope.place}", err=True)

    return Printout(
        tables=tables,
        data=lambda: {"jobs": [job.as_plain() for job in jobs], "warnings": list(warnings)},
        names=lambda: (job_name(job.key) for job in jobs),
        warnings=warnings,
    )


def job_changes(output: str, now: Callable[[], float], *, with_namespace: bool) -> ChangedRows[JobEntry]:
    """Print the jobs that change."""
    form = RowFormat[JobEntry](
        key=lambda job: job.key,
        table=lambda job: jobs_table([job], now(), with_namespace=with_namespace),
        plain=lambda job: job.as_plain(),
        name=lambda job: job_name(job.key),
        deleted=lambda job: replace(job, phase="Deleted", position=None, reason=""),
        widest={"PHASE": max(map(len, PHASE_COLOURS))},
    )
    return ChangedRows(form, output)
