"""Expected starts in every output format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from stromboli.cli.output import Printout, job_name
from stromboli.cli.text.tables import Table, echo_table
from stromboli.core.model.values.times import format_timestamp
from stromboli.local.discovery.printers.durations import human_duration
from stromboli.simulator.forecast.expected_starts import StartRange

UNKNOWN = "unknown"


def forecast_printout(found: Mapping[str, StartRange], now: float, warnings: Sequence[str]) -> Printout:
    def tables(wide: bool) -> None:
        if found:
            echo_table(forecast_table(found, now), wide=wide)
        else:
            click.echo("no job waits")

    return Printout(
        tables=tables,
        data=lambda: {
            "now": format_timestamp(now),
            "jobs": {key: each.as_plain() for key, each in found.items()},
            "warnings": list(warnings),
        },
        names=lambda: map(job_name, found),
        warnings=warnings,
    )


def forecast_table(found: Mapping[str, StartRange], now: float) -> Table:
    """Return the ranges as times from now, in the order of the expected starts; wide tables have the moments."""
    table = Table(
        ("JOB", "EARLIEST", "EXPECTED", "LATEST", "FROM", "UNTIL"), wide=("FROM", "UNTIL"),
        right=("EARLIEST", "EXPECTED", "LATEST"),
    )  # fmt: skip
    for key, each in sorted(found.items(), key=lambda item: (_order(item[1]), item[0])):
        table.add(
            key, _after(each.earliest, now), _after(each.expected, now), _after(each.latest, now),
            format_timestamp(each.earliest), UNKNOWN if each.latest is None else format_timestamp(each.latest),
        )  # fmt: skip
    return table


def _order(each: StartRange) -> tuple[bool, float]:
    moment = each.expected if each.expected is not None else each.latest
    return moment is None, each.earliest if moment is None else moment


def _after(moment: float | None, now: float) -> str:
    """Return the time until a moment."""
    if moment is None:
        return UNKNOWN
    return "now" if moment <= now + 1 else human_duration(moment - now)
