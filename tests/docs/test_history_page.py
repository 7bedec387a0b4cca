"""Output of `stromboli history` in the pages equals that of the command, for the recorded morning of the tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from stromboli.cli import main
from tests.docs.test_pages import read
from tests.testing.histories import example_records, write_records

_BLOCK = re.compile(r"^```console\n\$ stromboli (history[^\n]*)\n(.+?)^```", re.DOTALL | re.MULTILINE)
EXAMPLES = _BLOCK.findall(read("history.md"))


def test_page_has_examples_of_lists_and_of_a_job() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize(("arguments", "output"), EXAMPLES)
def test_page_shows_the_printed_output(
    arguments: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.db"
    write_records(str(path), *example_records())
    monkeypatch.setenv("STROMBOLI_HISTORY", str(path))
    monkeypatch.setenv("COLUMNS", "100")
    result = CliRunner().invoke(main, [*arguments.split(), "--now", "2026-03-02T12:00:00Z"])
    assert "".join(f"{line.rstrip()}\n" for line in result.output.splitlines()) == output
