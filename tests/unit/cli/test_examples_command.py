"""`stromboli examples`: the list, and copies."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.cli.commands.trial.demo import NEXT
from stromboli.cli.examples import examples_folder, summaries


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["examples", *arguments])


def test_every_example_has_a_summary() -> None:
    folders = {
        folder.name for folder in examples_folder().iterdir() if folder.is_dir() and not folder.name.startswith(".")
    }
    assert set(summaries()) == folders
    assert all(10 < len(summary) < 120 for summary in summaries().values())


def test_copies_equal_the_examples_and_can_be_used() -> None:
    result = run("copy")
    assert result.exit_code == 0
    copied = sorted(path.relative_to("examples") for path in Path("examples").rglob("*") if path.is_file())
    assert result.stdout == f"{len(copied)} files written to examples\n"
    assert all((Path("examples") / path).read_bytes() == (examples_folder() / path).read_bytes() for path in copied)
    assert not [path for path in copied if "cache" in str(path) or path.suffix == ".pyc"]
    assert CliRunner().invoke(main, ["topology", "-f", "examples/topology"]).exit_code == 0


def test_changed_file_is_overwritten_with_force_only() -> None:
    assert run("copy", "mine").exit_code == 0
    assert run("copy", "mine").exit_code == 0
    changed = Path("mine/demo/README.md")
    changed.write_text("changed")
    Path("mine/claims/README.md").unlink()
    refused = run("copy", "mine")
    assert refused.exit_code == 1
    assert refused.stderr == f"error: {changed}: exists and differs; use --force to overwrite it\n"
    assert changed.read_text() == "changed"
    assert not Path("mine/claims/README.md").exists()
    assert run("copy", "mine", "--force").exit_code == 0
    assert changed.read_text() != "changed"


def test_folder_that_cannot_be_written_is_an_error() -> None:
    Path("taken").write_text("")
    result = run("copy", "taken/examples")
    assert result.exit_code == 1
    assert "cannot be accessed: not a directory" in result.stderr


def test_next_commands_of_the_demo_work_in_an_empty_folder() -> None:
    commands = [re.split(r"  +", line.strip())[0] for line in NEXT.splitlines() if "stromboli" in line]
    assert [command.split()[1] for command in commands] == ["examples", "explain", "up"]
    copied, explained = (CliRunner().invoke(main, command.split()[1:]) for command in commands[:2])
    assert copied.exit_code == 0
    assert explained.exit_code == 3
    assert explained.stdout.startswith("default/giant waits: needs 24 GPUs, cluster has 16.")
