"""The summary of a trace as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from stromboli.cli.text.tables import Table, echo_table
from stromboli.core.model.values.times import format_length

_MAX_QUEUES = 10


def echo_summary(found: Mapping[str, Any], *, wide: bool = False) -> None:
    for name, value in _facts(found):
        click.echo(f"{name}:".ljust(13) + value)
    click.echo()
    table = Table(("", "MEAN", "MEDIAN", "P95", "MAX"), right=("MEAN", "MEDIAN", "P95", "MAX"))
    for title, key in (("RUN TIME", "runTime"), ("REQUESTED", "requested"), ("WAITED", "waited"), ("PODS", "pods")):
        values = found[key]
        if values is not None:
            written = _number if key == "pods" else format_length
            table.add(title, *(written(values[name]) for name in ("mean", "median", "p95", "max")))
    if table.rows:
        echo_table(table)
        click.echo()
    _echo_jobs("QUEUE", found["queues"], wide=wide)
    if wide:
        click.echo()
        _echo_jobs("USER", found["users"], wide=wide)


def _echo_jobs(title: str, numbers: Mapping[str, int], *, wide: bool) -> None:
    table = Table((title, "JOBS"), right=("JOBS",))
    for name, jobs in list(numbers.items())[: None if wide else _MAX_QUEUES]:
        table.add(name or "-", f"{jobs:,}")
    echo_table(table)
    if not wide and len(numbers) > _MAX_QUEUES:
        click.echo(f"... {len(numbers) - _MAX_QUEUES} more with -o wide")


def _number(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def _facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    cluster = [f"{found[key]:,g} {key}" for key in ("nodes", "processors", "gpus") if found[key]]
    load = [f"{part:.1%} of {name}" for name, part in found["load"].items() if part]
    rejected = sum(rule["rows"] for rule in found["rejected"].values())
    facts = [
        ("Trace", f"{Path(found['source']).name} ({found['format']})"),
        ("Cluster", ", ".join(cluster) or "not known"),
        ("Jobs", f"{found['jobs']:,} of {len(found['users']):,} users" if found["users"] else f"{found['jobs']:,}"),
        ("Skipped", f"{rejected:,} rows"),
        ("Arrivals", f"within {format_length(found['span'])}"),
        ("Load", ", ".join(load) or "not known"),
        ("Statuses", ", ".join(f"{name} {jobs:,}" for name, jobs in found["statuses"].items())),
    ]
    if found["unknownRunTimes"]:
        facts.append(("No run time", f"{found['unknownRunTimes']:,} jobs"))
    if found["overRequest"]:
        facts.append(("Overdue", f"{found['overRequest']:,} jobs ran longer than requested"))
    return facts
