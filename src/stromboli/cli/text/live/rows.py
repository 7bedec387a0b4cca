"""Rows of the live view: text that fits its columns, and the number of rows that are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from stromboli.cli.output import escape_controls

T = TypeVar("T")


def first_rows(rows: Sequence[T], number: int) -> Sequence[T]:
    """Return the rows that fit, with a line for the number of the others."""
    return rows if len(rows) <= number else rows[: max(number - 1, 0)]


def with_rest(lines: list[Text], total: int, rows: int) -> list[Text]:
    """Add the number of left out rows, and blank lines up to the height."""
    shown = len(lines) - 1
    if shown < total:
        lines.append(Text(f" +{total - shown} more", style="dim"))
    return lines + [Text()] * (rows + 1 - len(lines))


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes:02d}:{rest:02d}"


def unit(resource: str) -> str:
    return "GPU" if resource.endswith("/gpu") else resource.upper()


def amount(milli: int) -> str:
    return f"{milli / 1000:g}"


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def fit(text: str, width: int) -> str:
    text = escape_controls(text)
    return set_cell_size(text, width) if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"
