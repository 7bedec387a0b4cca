"""Output of `stromboli fairshare` in its page equals that of the command, for the recorded morning of the tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from stromboli.cli import main
from tests.docs.test_pages import read
from tests.testing.histories import example_records, write_records

_BLOCK = re.compile(r"^```console\n\$ stromboli (fairshare[^\n]*)\n(.+?)^```", re.DOTALL | re.MULTILINE)
_POLICY = re.compile(r"^```yaml\n(actions.+?)^```", re.DOTALL | re.MULTILINE)
PAGE = read("plugins/fairshare.md")
EXAMPLES = _BLOCK.findall(PAGE)


def test_page_has_examples() -> None:
    assert len(EXAMPLES) == 2


@pytest.mark.parametrize(("arguments", "output"), EXAMPLES)
def test_page_shows_the_printed_output(
    arguments: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(Path(__file__).parents[2] / "examples")
    Path("scheduler.conf").write_text(_POLICY.findall(PAGE)[0])
    write_records("history.db", *example_records())
    monkeypatch.setenv("STROMBOLI_HISTORY", "history.db")
    result = CliRunner().invoke(main, [*arguments.split(), "--now", "2026-03-02T12:00:00Z"])
    assert "".join(f"{line.rstrip()}\n" for line in result.output.splitlines()) == output
