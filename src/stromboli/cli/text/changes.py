"""What changes while a command watches: rows that are printed again, below a header; columns only become wider."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import click
import msgspec

from stromboli.cli.output import echo_yaml, escape_controls
from stromboli.cli.text.tables import Table

T = TypeVar("T")


class ChangedLines:
    def __init__(self, widest: Mapping[str, int]) -> None:
        """`widest` has the widths of columns whose texts are known in advance."""
        self._widest = widest
        self._header: list[str] = []
        #: The column widths so far.
        self._widths: list[int] = []

    def echo(self, table: Table) -> None:
        """Print the rows; first the header, and again if the columns are others."""
        lines = [[*row, note] for row, note in zip(table.rows, table.notes, strict=True)]
        header = [*table.header, table.note_header]
        if header != self._header:
            lines.insert(0, header)
            self._header, self._widths = header, [self._widest.get(title, 0) for title in header]
        self._widths = [
            max(old, *map(len, column)) for old, column in zip(self._widths, zip(*lines, strict=True), strict=True)
        ]
        for line in lines:
            cells = [cell.ljust(width) for cell, width in zip(line, self._widths, strict=True)]
            click.echo(escape_controls("  ".join(cells).rstrip()))


@dataclass(frozen=True)
class RowFormat(Generic[T]):
    """One row of a list in every output format."""

    #: Identifies a row.
    key: Callable[[T], Any]
    table: Callable[[T], Table]
    plain: Callable[[T], Any]
    name: Callable[[T], str]
    #: Returns the last row of something that is gone; without it, that is not printed.
    deleted: Callable[[T], T] | None = None
    widest: Mapping[str, int] = field(default_factory=dict)


class ChangedRows(Generic[T]):
    """Prints the rows that have changed since the last call, and those that are gone."""

    def __init__(self, form: RowFormat[T], output: str) -> None:
        self._form, self._output = form, output
        self._known: dict[Any, T] = {}
        self._lines = ChangedLines(form.widest)

    def show(self, rows: Iterable[T]) -> None:
        found = {self._form.key(row): row for row in rows}
        gone = [row for key, row in self._known.items() if key not in found] if self._form.deleted else []
        changed = [row for key, row in found.items() if self._known.get(key) != row]
        self._known = found
        for row in (*map(self._form.deleted or (lambda row: row), gone), *changed):
            self._echo(row)

    def _echo(self, row: T) -> None:
        if self._output == "json":
            click.echo(escape_controls(msgspec.json.encode(self._form.plain(row)).decode()))
        elif self._output == "yaml":
            click.echo("---")
            echo_yaml(self._form.plain(row))
        elif self._output == "name":
            click.echo(escape_controls(self._form.name(row)))
        else:
            table = self._form.table(row)
            self._lines.echo(table if self._output == "wide" else table.narrow())
