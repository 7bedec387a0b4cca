"""Examples in the pages equal the output of the commands, plain or on a terminal of 100 columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from stromboli.cli import main
from stromboli.cli.text import tables

ROOT = Path(__file__).parents[2]
#: `fairshare` needs a history: the test of its page has one.
_BLOCK = re.compile(
    r"^```(?:console)?\n\$ stromboli (?!fairshare)([^\n]*examples/(?!demo|plugin-package)[^\n]*)\n(.+?)^```",
    re.DOTALL | re.MULTILINE,
)
#: Blocks with several commands or abbreviated output, which the tests of the walkthroughs run.
_ABBREVIATED = re.compile(r"^(?:\$ |\.\.\.$)", re.MULTILINE)
_STYLES = re.compile(r"\x1b\[[0-9;]*m")


def shown() -> list[tuple[str, str, str]]:
    """Return page, arguments and output of every example that uses a cluster of `examples/`."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [
        (page.relative_to(ROOT).as_posix(), arguments, output)
        for page in pages
        for arguments, output in _BLOCK.findall(page.read_text(encoding="utf-8"))
        if not _ABBREVIATED.search(output)
    ]


def printed(arguments: str) -> str:
    """Return the output without colours and trailing blanks."""
    text = CliRunner().invoke(main, arguments.split()).output
    return "".join(f"{line.rstrip()}\n" for line in _STYLES.sub("", text).splitlines())


def test_pages_have_examples() -> None:
    assert {page for page, _, _ in shown()} >= {"README.md", "docs/plan.md", "docs/explain.md", "docs/simulate.md"}


@pytest.mark.parametrize(("page", "arguments", "output"), shown())
def test_pages_show_the_printed_output(page: str, arguments: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    plain = printed(arguments)
    monkeypatch.setattr(tables, "on_terminal", lambda: True)
    assert output in (plain, printed(arguments))
