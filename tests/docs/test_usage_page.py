"""Output of `stromboli usage` in the pages equals that of the command, for the recorded morning of the tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from stromboli.cli import main
from tests.docs.test_pages import read
from tests.testing.histories import example_records, write_records

_BLOCK = re.compile(r"^```console\n\$ stromboli (usage[^\n]*)\n(.+?)^```", re.DOTALL | re.MULTILINE)
_PRICES = re.compile(r"^```yaml\n(currency.+?)^```", re.DOTALL | re.MULTILINE)
EXAMPLES = _BLOCK.findall(read("usage.md"))


def test_page_has_examples_of_usage_and_prices() -> None:
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize(("arguments", "output"), EXAMPLES)
def test_page_shows_the_printed_output(
    arguments: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_records("history.db", *example_records())
    Path("prices.yaml").write_text(_PRICES.findall(read("usage.md"))[0])
    monkeypatch.setenv("STROMBOLI_HISTORY", "history.db")
    result = CliRunner().invoke(main, [*arguments.split(), "--now", "2026-03-02T12:00:00Z"])
    assert "".join(f"{line.rstrip()}\n" for line in result.output.splitlines()) == output
