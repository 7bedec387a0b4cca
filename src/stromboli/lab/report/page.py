"""The page of a report, with its style and scripts.

Every picture is in the page as SVG, so that it shows without scripts, too. The libraries of Vega are in the page, and
draw it again with tooltips and in the width of the window. The content security policy of the page allows its own
script and style by their digests, no other ones, and no connection.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

import msgspec

import stromboli
from stromboli.lab.pictures.catalogue import Picture
from stromboli.lab.pictures.rendering import svg_of, theme, vega_bundle
from stromboli.lab.report.content import Report
from stromboli.lab.report.tables import group_table, policy_table

#: The colour of texts of the page, in light and dark mode.
_THEME = theme("currentColor", None)
#: Pictures that need the whole width.
_TALL = ("node-gantt", "job-gantt", "node-map", "fragmentation-map")


def report_page(report: Report) -> str:
    """Return the page. Equal reports are equal pages. Raises MissingExtra."""
    style, script = _file("style.css"), vega_bundle(_file("script.js"))
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    title = escape(f"{' against '.join(report.comparison.policies)} on {report.comparison.trace}")
    return "\n".join((
        "<!doctype html>", "<html lang=en>", "<head>", "<meta charset=utf-8>",
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name=viewport content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>", f"<style>{style}</style>", "</head>", "<body>", f"<h1>{title}</h1>",
        *_body(report),
        f'<script type="application/json" id=pictures>{_data(report.pictures)}</script>',
        f"<script>{script}</script>", "</body>", "</html>", "",
    ))  # fmt: skip


def _body(report: Report) -> Iterator[str]:
    comparison, seeds = report.comparison, len(report.comparison.seeds)
    yield from (f"<p class=verdict>{escape(text)}</p>" for text in report.verdicts)
    intervals = f"Means of {seeds} seeds with 95 % confidence intervals; differences are those on equal seeds."
    yield f"<p>{intervals if seeds > 1 else ''} Pictures over time are those of seed {comparison.seeds[0]}.</p>"
    yield "<h2>Policies</h2>"
    yield policy_table(comparison)
    yield from _pictures([each for each in enumerate(report.pictures) if not each[1].policy])
    for policy in comparison.policies:
        yield f"<h2>{escape(policy)}</h2>"
        yield from _pictures([each for each in enumerate(report.pictures) if each[1].policy == policy])
    for kind, title in (("queues", "queue"), ("sizes", "size")):
        if len(comparison.groups(kind)) > 1:
            yield f"<h2>By {title}</h2>"
            yield group_table(comparison, kind, title)
    yield "<h2>Configurations</h2>"
    for policy, text in report.configurations.items():
        yield f"<details><summary>{escape(policy)}</summary><pre>{escape(text or 'the default')}</pre></details>"
    yield from _closing(report)


def _pictures(numbered: Sequence[tuple[int, Picture]]) -> Iterator[str]:
    yield "<div class=pictures>"
    for number, picture in numbered:
        svg = svg_of(picture.spec, _THEME, f"picture-{number}-")
        kind = " class=tall" if picture.name in _TALL else ""
        yield f"<figure data-picture={number} data-name={picture.name}{kind}>{svg}</figure>"
    yield "</div>"


def _closing(report: Report) -> Iterator[str]:
    if report.warnings:
        yield "<h2>Warnings</h2>"
        yield f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in report.warnings)}</ul>"
    yield "<footer>"
    if report.command:
        yield f"<p>Made by <code>{escape(report.command)}</code></p>"
    yield f"<p>Stromboli {stromboli.__version__}; drawn by Vega and Vega-Lite (BSD-3-Clause).</p></footer>"


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _data(pictures: Sequence[Picture]) -> str:
    """Return the specifications for a script element: nothing in it ends the element."""
    data = msgspec.json.encode({"config": _THEME, "specifications": [picture.spec for picture in pictures]})
    return data.decode().replace("<", "\\u003c")
