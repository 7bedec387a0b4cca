"""What pages show of the command's output is what the command prints, here or on a terminal of 100 columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from stromboli.cli import main
from stromboli.cli.text import tables

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(
    r"^```\n\$ stromboli ([^\n]*examples/(?!demo|plugin-package)[^\n]*)\n(.+?)^```", re.DOTALL | re.MULTILINE
)
_STYLES = re.compile(r"\x1b\[[0-9;]*m")


def shown() -> list[tuple[str, str, str]]:
    """Page, arguments and output of every example with the clusters that everybody has."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [
        (page.relative_to(ROOT).as_posix(), arguments, output)
        for page in pages
        for arguments, output in _BLOCK.findall(page.read_text(encoding="utf-8"))
    ]


def printed(arguments: str) -> str:
    """The output without colours and without what blanks are left at the ends of lines."""
    text = CliRunner().invoke(main, arguments.split()).output
    return "".join(f"{line.rstrip()}\n" for line in _STYLES.sub("", text).splitlines())


def test_there_are_examples() -> None:
    assert {page for page, _, _ in shown()} >= {"README.md", "docs/plan.md", "docs/explain.md", "docs/simulate.md"}


@pytest.mark.parametrize(("page", "arguments", "output"), shown())
def test_pages_show_what_is_printed(page: str, arguments: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    plain = printed(arguments)
    monkeypatch.setattr(tables, "on_terminal", lambda: True)
    assert output in (plain, printed(arguments))
