"""The statistics of a simulated trace as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from stromboli.cli.text.tables import Table, echo_table, echo_wrapped
from stromboli.core.model.values.times import format_length

_FIGURES = ("JOBS", "WAITING", "MEAN WAIT", "MEDIAN", "P95", "MAX", "TURNAROUND", "SLOWDOWN")
_WIDE = ("P95 SLOWDOWN", "KILLED", "PREEMPTIONS", "FAILURES", "LOST HOURS")
_MAX_ROWS = 20


def echo_run(found: Mapping[str, Any], *, wide: bool = False) -> None:
    _echo("QUEUE", {**found["queues"], **({"all": found} if len(found["queues"]) != 1 else {})}, wide=wide)
    _echo("SIZE", found["sizes"], wide=wide)
    if wide and found["users"]:
        _echo("USER", found["users"], wide=wide)
    echo_wrapped(_closing(found))


def _echo(title: str, groups: Mapping[str, Mapping[str, Any]], *, wide: bool) -> None:
    table = Table((title, *_FIGURES, *_WIDE), right=(*_FIGURES, *_WIDE), wide=_WIDE)
    for name, figures in list(groups.items())[: None if wide else _MAX_ROWS]:
        table.add(name, *_cells(figures))
    echo_table(table, wide=wide)
    if len(groups) > _MAX_ROWS and not wide:
        click.echo(f"... {len(groups) - _MAX_ROWS} more with -o wide")
    click.echo()


def _cells(figures: Mapping[str, Any]) -> list[str]:
    wait, turnaround, slowdown = (figures[name] or {} for name in ("wait", "turnaround", "slowdown"))
    outcomes = figures["outcomes"]
    return [
        f"{figures['jobs']:,}",
        f"{outcomes.get('waiting', 0):,}",
        *(_length(wait.get(name)) for name in ("mean", "median", "p95", "max")),
        _length(turnaround.get("mean")),
        _ratio(slowdown.get("mean")),
        _ratio(slowdown.get("p95")),
        f"{outcomes.get('killed', 0):,}",
        *(f"{figures[name]:,}" for name in ("preemptions", "failures")),
        f"{figures['lostHours']:,.1f}",
    ]


def _length(seconds: float | None) -> str:
    return "-" if seconds is None else format_length(seconds)


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"


def _closing(found: Mapping[str, Any]) -> str:
    started = found["wait"]
    parts = [
        f"{format_length(found['seconds'])} in {found['cycles']:,} cycles",
        f"mean wait {_length(started and started['mean'])}",
        f"makespan {format_length(found['makespan'])}",
        *(f"{name} {part:.1%} in use" for name, part in found["utilisation"].items()),
    ]
    return "; ".join(parts) + "."
