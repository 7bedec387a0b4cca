"""Tables: coloured and fitted to the width on a terminal, plain aligned columns elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

import click

from stromboli.cli.output import escape_controls

if TYPE_CHECKING:
    from rich.console import Console

#: Fitting a table to a terminal is slow; larger tables are printed as plain columns.
_MAX_FITTED_ROWS = 500
_GAP = "  "
_MIN_FLEXIBLE_WIDTH = 12
_DEFAULT_WIDTH = 100


@dataclass(slots=True)
class Table:
    """Rows of text under a header. Cells are sanitised.

    A row's note is its last cell in plain output, and a separate line on a terminal.
    """

    header: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    #: Columns that are wrapped when the line is too long.
    flexible: Sequence[str] = ()
    #: Columns of `-o wide` only.
    wide: Sequence[str] = ()
    #: Columns of numbers.
    right: Sequence[str] = ()
    #: Colours for whole cells, by their text.
    colours: Mapping[str, str] = field(default_factory=dict)
    note_header: str = ""
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: str, note: str = "") -> None:
        self.rows.append([escape_controls(cell) for cell in cells])
        self.notes.append(escape_controls(note))

    def narrow(self) -> Table:
        """Return the table without the columns of `-o wide`."""
        kept = [number for number, name in enumerate(self.header) if name not in self.wide]
        rows: list[Sequence[str]] = [[row[number] for number in kept] for row in self.rows]
        return replace(self, header=[self.header[number] for number in kept], rows=rows, wide=())


def on_terminal() -> bool:
    return sys.stdout.isatty()


def is_styled() -> bool:
    """Report whether the output may have colours."""
    return on_terminal() and not os.environ.get("NO_COLOR")


def bold(text: str) -> str:
    return click.style(text, bold=True) if is_styled() else text


def line_width() -> int:
    """Return the width of wrapped text."""
    return shutil.get_terminal_size((_DEFAULT_WIDTH, 0)).columns


def echo_wrapped(text: str) -> None:
    """Print a sentence; on a terminal, its lines end between words."""
    click.echo("\n".join(wrap(text, line_width())) if on_terminal() else text)


def echo_table(table: Table, *, wide: bool = False) -> None:
    shown = table if wide else table.narrow()
    fitted = _fitted(shown) if on_terminal() and len(shown.rows) <= _MAX_FITTED_ROWS else None
    if fitted is not None:
        _echo_fitted(fitted)
    else:
        click.echo("\n".join(aligned(shown)))


def _fitted(table: Table) -> Table | None:
    """Return the table with enough flexible columns for the width of the terminal; None if it is too narrow."""
    texts = [name for name in table.header if name not in table.right]
    for flexible in (table.flexible, texts, table.header):
        least = [
            min(width, _MIN_FLEXIBLE_WIDTH) if name in flexible else width
            for name, width in zip(table.header, _widths(table), strict=True)
        ]
        if sum(least) + len(_GAP) * (len(least) - 1) <= line_width():
            return replace(table, flexible=flexible)
    return None


def _widths(table: Table) -> list[int]:
    return [max(map(len, column)) for column in zip(table.header, *table.rows, strict=True)]


def aligned(table: Table) -> list[str]:
    """Return the table as plain lines."""
    lines = [list(table.header), *table.rows]
    if any(table.notes):
        lines = [[*line, note] for line, note in zip(lines, [table.note_header, *table.notes], strict=True)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    pads = [str.rjust if name in table.right else str.ljust for name in (*table.header, table.note_header)]
    return [
        _GAP.join(pad(cell, width) for pad, cell, width in zip(pads, line, widths, strict=False)).rstrip()
        for line in lines
    ]


def _echo_fitted(table: Table) -> None:
    """Print to a terminal. `rich` is slow to import, so it is imported only here."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False, color_system="auto" if is_styled() else None)
    begin = 0
    for end, note in enumerate(table.notes, start=1):
        if note or end == len(table.rows):
            _print_rows(console, table, begin, end)
            begin = end
        if note:
            console.print(Padding(Text(note, style="dim"), (0, 0, 0, len(_GAP) * 2)))


def _print_rows(console: Console, table: Table, begin: int, end: int) -> None:
    """Print some rows with the column widths of the whole table, so that all parts are aligned."""
    from rich.table import Table as RichTable
    from rich.text import Text

    part = RichTable(
        box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0), show_header=begin == 0, header_style="bold"
    )  # fmt: skip
    for name, width in zip(table.header, _widths(table), strict=True):
        justify: Literal["left", "right"] = "right" if name in table.right else "left"
        if name in table.flexible:
            part.add_column(name, overflow="fold", max_width=width, justify=justify)
        else:
            part.add_column(name, no_wrap=True, width=width, justify=justify)
    for row in table.rows[begin:end]:
        part.add_row(*(Text(cell, style=table.colours.get(cell, "")) for cell in row))
    console.print(part)
