"""Every page renders as it is meant: tables, code blocks, diagrams, links, anchors, images, and the navigation."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from zensical.config import parse_config
from zensical.markdown.render import render

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
TEXTS = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("charts/**/*.md")])
EVERY_TEXT = pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())

_TARGET = re.compile(r"\[[^\]]*\]\(([^)\s]+)[^)]*\)|<img[^>]*\bsrc=\"([^\"]+)\"")
_FENCE = re.compile(r"^( *)(`{3,}|~{3,})([^`\n]*)$")
_SEPARATOR = re.compile(r"^\|(?: *:?-+:? *\|)+$")
_DIAGRAM = re.compile(r"^(flowchart (LR|TB|TD)|stateDiagram-v2|sequenceDiagram)$")


# -- reading ----------------------------------------------------------------------------------------------------------


def blocks_of(text: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the lines outside of code blocks, and every code block: its language and its lines."""
    outside: list[str] = []
    blocks: list[tuple[str, list[str]]] = []
    fence = ""
    for line in text.splitlines():
        found = _FENCE.match(line)
        if fence and found and found[2] == fence and not found[3].strip():
            fence = ""
        elif fence:
            blocks[-1][1].append(line)
        elif found:
            fence = found[2]
            blocks.append((found[3].strip().split(" ")[0], []))
            outside.append("")
        else:
            outside.append(line)
    assert not fence, f"a code block is not closed; it begins with {blocks[-1][1][:1]}"
    return outside, blocks


def prose_of(path: Path) -> str:
    return "\n".join(blocks_of(path.read_text(encoding="utf-8"))[0])


@cache
def html_of(text: str) -> str:
    """Render a page as the site does."""
    parse_config(str(ROOT / "zensical.toml"))
    rendered: str = render(text, "page.md", "page.html")["content"]
    return rendered


# -- tables -----------------------------------------------------------------------------------------------------------


def tables_of(text: str) -> list[list[str]]:
    """Return the rows of every table; a table is a run of lines that begin with a pipe."""
    tables: list[list[str]] = [[]]
    for line in blocks_of(text)[0]:
        if line.lstrip().startswith("|"):
            tables[-1].append(line.strip())
        elif tables[-1]:
            tables.append([])
    return [table for table in tables if table]


def table_errors(text: str) -> list[str]:
    """Check the tables by the rules of both renderers. A pipe in a code span ends the cell on GitHub."""
    errors = []
    for table in tables_of(text):
        if len(table) < 3 or not _SEPARATOR.match(table[1]):
            errors.append(f"no header, separator and row: {table[0]}")
        errors += [f"escaped pipe: {row}" for row in table if "\\|" in row]
        errors += [f"another number of cells: {row}" for row in table if row.count("|") != table[0].count("|")]
    html = re.sub(r"<(pre|code)\b.*?</\1>", "", html_of(text), flags=re.DOTALL)
    errors += re.findall(r"^(?:<p>)?\|.*$", html, re.MULTILINE)
    if html.count("<table") != len(tables_of(text)):
        errors.append("a table is not rendered: is there an empty line before it?")
    return errors


@EVERY_TEXT
def test_tables_are_rendered_with_all_their_cells(path: Path) -> None:
    assert table_errors(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("| a | b |\n|---|---|\n| 1 | 2 |\n\n| 3 | 4 |\n", id="empty line within"),
        pytest.param("| a | b |\n|---|---|\n| 1 | 2 |\n\n| 3 | 4 |\n| 5 | 6 |\n| 7 | 8 |\n", id="rest without header"),
        pytest.param("Text\n| a | b |\n|---|---|\n| 1 | 2 |\n", id="no empty line before"),
        pytest.param("| a | b |\n|---|---|\n| 1 |\n", id="cell missing"),
        pytest.param("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n", id="cell too many"),
        pytest.param("| a | b |\n|---|---|\n| `x|y` | 2 |\n", id="pipe in code"),
        pytest.param("| a | b |\n|---|---|\n| `x\\|y` | 2 |\n", id="escaped pipe in code"),
    ],
)
def test_broken_table_is_found(text: str) -> None:
    assert table_errors(text)


# -- code blocks and diagrams -----------------------------------------------------------------------------------------


@EVERY_TEXT
def test_code_blocks_are_closed_and_rendered(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(re.findall(r"<pre\b", html_of(text))) >= len(blocks_of(text)[1])
    assert "```" not in re.sub(r"<pre\b.*?</pre>", "", html_of(text), flags=re.DOTALL)


def diagram_errors(lines: list[str]) -> list[str]:
    """Check the first line, the brackets, and for flowcharts the form of every statement."""
    first, *rest = [line.strip() for line in lines if line.strip()]
    errors = [] if _DIAGRAM.match(first) else [f"unknown kind of diagram: {first}"]
    errors += [line for line in rest for pair in ("()", "[]", "{}") if line.count(pair[0]) != line.count(pair[1])]
    errors += [line for line in rest if line.count('"') % 2 or ";" in line]
    blocks = sum(line.startswith("subgraph ") or line.endswith("{") for line in rest)
    if blocks != sum(line in ("end", "}") for line in rest):
        errors.append("a subgraph or state is not closed")
    return errors


def diagrams_of(path: Path) -> list[list[str]]:
    return [lines for language, lines in blocks_of(path.read_text(encoding="utf-8"))[1] if language == "mermaid"]


@EVERY_TEXT
def test_diagrams_are_well_formed(path: Path) -> None:
    assert [error for lines in diagrams_of(path) for error in diagram_errors(lines)] == []


# -- links, anchors and images ----------------------------------------------------------------------------------------


def targets_of(path: Path) -> list[str]:
    """Return the targets of links and images inside of the repository."""
    found = [link or image for link, image in _TARGET.findall(prose_of(path))]
    return [target for target in found if "://" not in target and not target.startswith("mailto:")]


@cache
def anchors_of(path: Path) -> set[str]:
    return set(re.findall(r'<h\d id="([^"]+)"', html_of(path.read_text(encoding="utf-8"))))


def is_broken(path: Path, target: str) -> bool:
    file, _, anchor = target.partition("#")
    wanted = (path.parent / file).resolve() if file else path
    if not wanted.exists() or not wanted.is_relative_to(ROOT):
        return True
    return bool(anchor) and anchor not in anchors_of(wanted)


@EVERY_TEXT
def test_links_and_images_have_targets(path: Path) -> None:
    assert [target for target in targets_of(path) if is_broken(path, target)] == []


@pytest.mark.parametrize("page", PAGES)
def test_pages_of_the_site_link_only_to_each_other(page: str) -> None:
    """Files outside docs/ are not part of the site."""
    files = [(DOCS / page).parent / target.partition("#")[0] for target in targets_of(DOCS / page)]
    assert [file for file in files if not file.resolve().is_relative_to(DOCS)] == []


# -- navigation -------------------------------------------------------------------------------------------------------


def leaves(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        yield from (leaf for child in nav.values() for leaf in leaves(child))
    elif isinstance(nav, list):
        yield from (leaf for child in nav for leaf in leaves(child))


def test_navigation_has_every_page_once() -> None:
    settings = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    assert sorted(leaves(settings["project"]["nav"])) == PAGES
