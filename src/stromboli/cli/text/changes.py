"""Lines that are printed as objects change, below a header; columns only become wider."""

from __future__ import annotations

from collections.abc import Mapping

import click

from stromboli.cli.output import escape_controls
from stromboli.cli.text.tables import Table


class ChangedLines:
    def __init__(self, widest: Mapping[str, int]) -> None:
        """`widest` has the widths of columns whose texts are known in advance."""
        self._widest = widest
        #: The column widths so far.
        self._widths: list[int] = []

    def echo(self, table: Table) -> None:
        lines = [[*row, note] for row, note in zip(table.rows, table.notes, strict=True)]
        if not self._widths:
            lines.insert(0, [*table.header, table.note_header])
            self._widths = [self._widest.get(title, 0) for title in lines[0]]
        self._widths = [
            max(old, *map(len, column)) for old, column in zip(self._widths, zip(*lines, strict=True), strict=True)
        ]
        for line in lines:
            cells = [cell.ljust(width) for cell, width in zip(line, self._widths, strict=True)]
            click.echo(escape_controls("  ".join(cells).rstrip()))
