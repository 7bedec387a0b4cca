"""Usage of a period in every output format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import click

from stromboli.cli.options.prices import PriceList, unit_hours
from stromboli.cli.output import Printout
from stromboli.cli.text.column_files import csv_text
from stromboli.cli.text.tables import Table, echo_table
from stromboli.core.model.resources.resources import is_bytes, short_name
from stromboli.core.model.values.times import format_timestamp
from stromboli.history.usage.reports import UsageEntry

_UNITS = {"cpu": "CPU", "memory": "MEMORY GiB"}


class UsageReport:
    """Usage by dimensions, with what it costs."""

    def __init__(
        self,
        entries: Sequence[UsageEntry],
        by: Sequence[str],
        *,
        since: float,
        until: float,
        prices: PriceList | None,
    ) -> None:
        self._entries = entries
        self._by = by
        self._since, self._until = since, until
        self._prices = prices
        self._resources = sorted({name for entry in entries for name in entry.resource_seconds}, key=_rank)

    def printout(self) -> Printout:
        return Printout(
            tables=lambda wide: self._echo_table(),
            data=self._document,
            names=lambda: ("/".join(entry.key.values()) for entry in self._entries),
            further={"csv": lambda: csv_text(self.columns())},
        )

    # -- a table ------------------------------------------------------------------------------------------------

    def _echo_table(self) -> None:
        if not self._entries:
            click.echo(f"no pod ran between {format_timestamp(self._since)} and {format_timestamp(self._until)}")
            return
        titles = [f"{_UNITS.get(name) or short_name(name).upper()} HOURS" for name in self._resources]
        money = [f"COST {self._prices.currency}".strip()] if self._prices else []
        numbers = ["RUNS", "POD HOURS", *titles, *money]
        table = Table((*(name.upper() for name in self._by), *numbers), right=numbers)
        for entry in self._entries:
            table.add(*(value or "-" for value in entry.key.values()), *self._cells(entry))
        if len(self._entries) > 1:
            table.add("TOTAL", *([""] * (len(self._by) - 1)), *self._cells(self._total()))
        echo_table(table)

    def _cells(self, entry: UsageEntry) -> list[str]:
        used = [unit_hours(name, entry.resource_seconds.get(name, Fraction(0))) for name in self._resources]
        hours = [f"{float(each):.2f}" for each in (entry.pod_seconds / 3600, *used)]
        return [str(entry.runs), *hours, *(f"{float(cost):.2f}" for cost in self._costs(entry))]

    def _total(self) -> UsageEntry:
        total = UsageEntry({})
        for entry in self._entries:
            total.include(entry)
        return total

    def _costs(self, entry: UsageEntry) -> list[Fraction]:
        return [self._prices.cost_of(entry.resource_seconds)] if self._prices else []

    # -- data ---------------------------------------------------------------------------------------------------

    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "since": format_timestamp(self._since),
            "until": format_timestamp(self._until),
            "by": list(self._by),
        }
        if self._prices:
            document["currency"] = self._prices.currency
        return {**document, "usage": [self._plain(entry) for entry in self._entries]}

    def _plain(self, entry: UsageEntry) -> dict[str, Any]:
        seconds = {name: _number(value) for name, value in sorted(entry.resource_seconds.items())}
        used = {"runs": entry.runs, "podSeconds": _number(entry.pod_seconds), "resourceSeconds": seconds}
        cost = {"cost": round(float(self._prices.cost_of(entry.resource_seconds)), 6)} if self._prices else {}
        return {**entry.key, **used, **cost}

    def columns(self) -> Mapping[str, list[Any]]:
        """Return the usage by column, for tables of other programs."""
        columns: dict[str, list[Any]] = {name: [entry.key[name] for entry in self._entries] for name in self._by}
        columns["runs"] = [entry.runs for entry in self._entries]
        columns["pod_hours"] = [float(entry.pod_seconds / 3600) for entry in self._entries]
        for name in self._resources:
            unit = f"{name}_gib_hours" if is_bytes(name) else f"{name}_hours"
            used = (entry.resource_seconds.get(name, Fraction(0)) for entry in self._entries)
            columns[unit] = [float(unit_hours(name, seconds)) for seconds in used]
        if self._prices:
            columns["cost"] = [float(cost) for entry in self._entries for cost in self._costs(entry)]
        return columns


def _rank(resource: str) -> tuple[int, str]:
    """Order cpu and memory before the others."""
    return list(_UNITS).index(resource) if resource in _UNITS else len(_UNITS), resource


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
