"""Budgets and what is used of them in every output format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from stromboli.cli.output import Printout
from stromboli.cli.text.tables import Table, echo_table
from stromboli.core.model.resources.resources import short_name
from stromboli.core.model.usage.budgets import BudgetState
from stromboli.core.model.values.times import format_timestamp

_NUMBERS = ("USED", "LIMIT", "PER CENT")


def budgets_printout(states: Sequence[BudgetState], warnings: Sequence[str] = ()) -> Printout:
    return Printout(
        tables=lambda wide: _echo_table(states),
        data=lambda: {"budgets": [_document(state) for state in states], "warnings": list(warnings)},
        names=lambda: (f"{state.queue}/{state.budget.scope}" for state in states),
        warnings=warnings,
    )


def _echo_table(states: Sequence[BudgetState]) -> None:
    if not states:
        click.echo("no queue has a budget")
        return
    table = Table(("QUEUE", "OF", "RESOURCE", "PERIOD", *_NUMBERS, "OVER", "STATE"), right=_NUMBERS, colours=_COLOURS)
    for state in states:
        budget = state.budget
        table.add(
            state.queue, state.subject or "all", short_name(budget.resource), budget.period, f"{state.used:.1f}",
            f"{state.limit:.1f}", f"{state.percent:.0f}", budget.over, state.state,
        )  # fmt: skip
    echo_table(table)


_COLOURS = {"used up": "red", "in grace": "yellow"}


def _document(state: BudgetState) -> dict[str, Any]:
    budget: dict[str, Any] = msgspec.to_builtins(state.budget)
    found = {"usedHours": state.used, "limitHours": state.limit, "since": format_timestamp(state.since)}
    holder = {"user": state.holder.user, "namespace": state.holder.namespace}
    return {"queue": state.queue, "budget": budget, "holder": holder, **found, "state": state.state}
