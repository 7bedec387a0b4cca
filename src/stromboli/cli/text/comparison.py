"""A comparison of policies as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from stromboli.cli.text.tables import Table, echo_table, echo_wrapped
from stromboli.lab.comparison.text import figure_text

if TYPE_CHECKING:
    from stromboli.lab.comparison.comparison import Comparison
    from stromboli.lab.comparison.statistics import MeanEstimate

#: Columns of the table of policies, with the figure of each.
_COLUMNS = (
    ("MEAN WAIT", "wait.mean"), ("MEDIAN", "wait.median"), ("P95", "wait.p95"),
    ("MAX", "wait.max"), ("TURNAROUND", "turnaround.mean"), ("SLOWDOWN", "slowdown.mean"),
    ("MAKESPAN", "makespan"), ("CPU", "utilisation.cpu"), ("GPU", "utilisation.gpu"),
    ("FRAGMENTED", "fragmentation.mean"), ("PREEMPTIONS", "preemptions"), ("LOST HOURS", "lostHours"),
    ("UNFAIR", "fairness.deviation"), ("JAIN QUEUES", "fairness.jainQueues"),
    ("JAIN USERS", "fairness.jainUsers"),
)  # fmt: skip
_WIDE = ("MEDIAN", "TURNAROUND", "LOST HOURS", "JAIN QUEUES", "JAIN USERS")
_GROUP_TITLES = {"queues": "MEAN WAIT OF QUEUE", "sizes": "MEAN WAIT OF SIZE"}
_MAX_ROWS = 20


def echo_comparison(comparison: Comparison, verdicts: Sequence[str], *, wide: bool = False) -> None:
    _echo_policies(comparison, wide=wide)
    for kind, title in _GROUP_TITLES.items():
        if len(comparison.groups(kind)) > 1:
            _echo_groups(comparison, kind, title, wide=wide)
    click.echo()
    for verdict in verdicts:
        echo_wrapped(verdict)
    seeds = len(comparison.seeds)
    if seeds > 1:
        echo_wrapped(f"Means of {seeds} seeds with 95 % confidence intervals; differences on equal seeds.")


def _echo_policies(comparison: Comparison, *, wide: bool) -> None:
    rows = {name: comparison.estimates(name) for name in comparison.policies}
    columns = [column for column in _COLUMNS if any(column[1] in row for row in rows.values())]
    titles = [title for title, _ in columns]
    table = Table(("POLICY", *titles), right=titles, wide=_WIDE)
    for name, row in rows.items():
        table.add(name, *(figure_text(key, row.get(key)) for _, key in columns))
    echo_table(table, wide=wide)


def _echo_groups(comparison: Comparison, kind: str, title: str, *, wide: bool) -> None:
    """Print a column per policy."""
    click.echo()
    names = comparison.groups(kind)
    table = Table((title, "JOBS", *comparison.policies), right=("JOBS", *comparison.policies))
    for name in names[: None if wide else _MAX_ROWS]:
        found = [comparison.group_estimates(policy, kind, name) for policy in comparison.policies]
        table.add(name, _count(found[0]), *(figure_text("wait.mean", each.get("wait.mean")) for each in found))
    echo_table(table, wide=wide)
    if len(names) > _MAX_ROWS and not wide:
        click.echo(f"... {len(names) - _MAX_ROWS} more with -o wide")


def _count(row: Mapping[str, MeanEstimate]) -> str:
    return f"{row['jobs'].mean:,.0f}" if "jobs" in row else "-"
