"""The page of the Python API: its snippets run, one after the other, as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_snippets_run_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "notebook"}
    for number, snippet in enumerate(SNIPPETS):
        exec(compile(snippet, f"docs/python.md snippet {number}", "exec"), names)  # noqa: S102
    printed = capsys.readouterr().out
    for output in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE):
        assert output in printed
    assert re.search(r"smallest-first waits \d+ %.* less than easy", printed)
