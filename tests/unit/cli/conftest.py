"""A fixture that runs a command on manifests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command on manifests, which are in the folder `cluster` and on the standard input."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "cluster").mkdir()

    def invoke(command: str, manifests: list[Any], *arguments: str, file: str = "cluster") -> Result:
        text = json.dumps(manifests)
        Path("cluster/objects.json").write_text(text)
        return CliRunner().invoke(main, [command, "-f", file, *arguments], input=text)

    return invoke
