"""A simulation as text: jobs, waiting times, utilisation, and a summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from stromboli.cli.text.tables import Table, bold, echo_table, echo_wrapped
from stromboli.core.model.values.times import format_length

if TYPE_CHECKING:
    from stromboli.simulator.measurements import JobTimeline, SimulationMeasurements
    from stromboli.simulator.report import Waits

#: Larger simulations show only the longest waits; -o wide shows all jobs.
_MAX_JOBS = 40
_BARS = " ▁▂▃▄▅▆▇█"


def echo_measurements(
    measured: SimulationMeasurements, why: Callable[[str], Sequence[str]], *, wide: bool = False
) -> None:
    records = sorted(measured.jobs.values(), key=lambda record: (record.arrived, record.key))
    if records:
        shown = records if wide else _longest_waits(records)
        echo_table(_jobs(shown, measured.start, why), wide=wide)
        if len(records) > len(shown):
            click.echo(f"... longest waits only; {len(records) - len(shown)} more with -o wide")
        click.echo()
        echo_table(_waits(records, measured))
        click.echo()
    if used := _use(measured):
        click.echo(bold("IN USE"))
        for line in used:
            click.echo(line)
        click.echo()
    echo_wrapped(_closing(measured))


def _jobs(records: Sequence[JobTimeline], start: float, why: Callable[[str], Sequence[str]]) -> Table:
    table = Table(
        ("JOB", "QUEUE", "PODS", "MIN", "ARRIVED", "STARTED", "ENDED", "WAITED", "EVICTIONS", "LOST PODS"),
        right=("PODS", "MIN", "ARRIVED", "STARTED", "ENDED", "WAITED", "EVICTIONS", "LOST PODS"),
        wide=("MIN", "EVICTIONS", "LOST PODS"),
        note_header="WHY IT WAITS",
    )
    for record in records:
        times = [_clock(moment, start) for moment in (record.arrived, record.started, record.ended)]
        waited = "-" if record.waited is None else format_length(record.waited)
        note = "" if record.started is not None else "; ".join(why(record.key)) or "not scheduled until the end"
        sizes, losses = map(str, (record.pods, record.minimum)), map(str, (record.evictions, record.lost))
        table.add(record.key, record.queue, *sizes, *times, waited, *losses, note=note)
    return table


def _longest_waits(records: Sequence[JobTimeline]) -> Sequence[JobTimeline]:
    """Select all jobs, or those that never started and those with the longest waits, in order of arrival."""
    if len(records) <= _MAX_JOBS:
        return records
    ordered = sorted(records, key=lambda record: float("inf") if record.waited is None else record.waited, reverse=True)
    chosen = {record.key for record in ordered[:_MAX_JOBS]}
    return [record for record in records if record.key in chosen]


def _waits(records: Sequence[JobTimeline], measured: SimulationMeasurements) -> Table:
    from stromboli.simulator.report import by_queue, waits_of

    names = ("QUEUE", "JOBS", "WAITING", "MEAN WAIT", "MEDIAN", "P95", "MAX")
    table = Table((*names, "SHARE"), right=names[1:])
    _, shares = measured.mean_use(measured.start, measured.end)
    for name, own in by_queue(records).items():
        table.add(name, *_numbers(own, waits_of(own)), _format_fractions(shares.get(name, {})))
    if len({record.queue for record in records}) > 1:
        table.add("all", *_numbers(records, waits_of(records)), "")
    return table


def _numbers(records: Sequence[JobTimeline], waits: Waits) -> list[str]:
    waiting = sum(1 for record in records if record.started is None)
    lengths = (waits.mean, waits.median, waits.p95, waits.longest)
    return [str(len(records)), str(waiting), *(format_length(length) if waits.jobs else "-" for length in lengths)]


def _format_fractions(parts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {part:.0%}" for name, part in parts.items() if part >= 0.005) or "-"


def _use(measured: SimulationMeasurements) -> list[str]:
    """Return a line per resource: its mean, and a bar per interval."""
    from stromboli.simulator.report import PARTS

    mean, _ = measured.mean_use(measured.start, measured.end)
    names = [name for name, part in mean.items() if part > 0]
    length = (measured.end - measured.start) / PARTS
    if length <= 0 or not names:
        return []
    begins = [measured.start + number * length for number in range(PARTS)]
    parts = [measured.mean_use(begin, begin + length)[0] for begin in begins]
    width = max(map(len, names))
    return [
        f"{name.ljust(width)}  {mean[name]:4.0%}  {''.join(_bar(part.get(name, 0.0)) for part in parts)}"
        for name in names
    ]


def _bar(part: float) -> str:
    return _BARS[min(round(part * (len(_BARS) - 1)), len(_BARS) - 1)]


def _closing(measured: SimulationMeasurements) -> str:
    from stromboli.simulator.report import moment

    records = measured.jobs.values()
    started = sum(1 for record in records if record.started is not None)
    parts = [
        f"{format_length(measured.end - measured.start)} from {moment(measured.start)} in {measured.cycles} cycles",
        f"{started} of {len(records)} jobs started",
    ]
    if evicted := sum(record.evictions for record in records):
        parts.append(f"{evicted} pods evicted")
    return "; ".join(parts) + "."


def _clock(moment: float | None, start: float) -> str:
    return "-" if moment is None else f"+{format_length(moment - start)}"
