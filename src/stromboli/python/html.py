"""Representations of objects in notebooks: HTML without scripts, in which every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_CELL = "text-align:left;vertical-align:top;padding:2px 10px"


def heading(text: str, note: str = "") -> str:
    return f"<p><strong>{escape(text)}</strong>{' · ' + escape(note) if note else ''}</p>"


def table(header: Sequence[str], rows: Iterable[Sequence[object]], *, more: int = 0) -> str:
    """Return a table; `more` rows are only counted."""
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(shown(cell))}</td>' for cell in row) + "</tr>" for row in rows
    )
    note = f"<p>and {more:,} more</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def listing(items: Iterable[str]) -> str:
    entries = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f"<ul>{entries}</ul>" if entries else ""


def code(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def shown(value: object) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
