"""Every bad input of `bad_inputs.yaml` gives exactly its message and its exit code."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from stromboli.cli import main
from tests.testing.random_clusters.effort import examples

TABLE: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("bad_inputs.yaml").read_text("utf-8"))
CASES: list[dict[str, Any]] = TABLE["cases"]
#: The exit code of wrong usage, for which the table has the last line only.
USAGE = 2


def write_files(case: dict[str, Any]) -> None:
    gang: str = TABLE["gang"]
    for old, new in case.get("edit", {}).items():
        assert old in gang
        gang = gang.replace(old, new)
    files = {"gang.yaml": gang + case.get("append", ""), **case.get("files", {})}
    for name, content in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_bad_input(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(case)
    environment = {"KUBECONFIG": "", "HOME": str(tmp_path), **case.get("env", {})}
    result = CliRunner().invoke(main, shlex.split(case["run"]), input=case.get("stdin", ""), env=environment)
    lines = result.stderr.splitlines()
    assert (lines[-1:] if result.exit_code == USAGE else lines) == case["stderr"].splitlines()
    assert result.exit_code == case["exit"]
    assert result.exit_code not in (1, USAGE) or result.stdout == ""


def test_table_covers_the_commands() -> None:
    assert len(CASES) >= 60
    commands = {"plan", "explain", "topology", "simulate", "replay", "config", "up", "hypernodes", "manifests"}
    assert {*commands, "bindrequests", "demo", "completion"} <= {case["run"].split()[0] for case in CASES}


PIECES = ["", "\t", "&a ", "*a", "<<: *a\n", "[", "}", "---\n", "- ", ": ", "\x00", "\ud800", "é"]


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Draw the manifests of the table with some characters removed, repeated or replaced."""
    text: str = TABLE["gang"]
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(start + 12, len(text))))
        piece = draw(
            st.sampled_from(["", "\t", "&a ", "*a", "<<: *a\n", "[", "}", "---\n", "- ", "\x00", "\ud800", "é", ": "])
        )
        text = text[:start] + draw(st.sampled_from([piece, text[start:end] * 2])) + text[end:]
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@examples(60)
@given(damaged(), st.sampled_from(["plan --explain -f", "topology -f", "simulate --until 1m -f"]))
def test_damaged_manifests_are_read_or_rejected_with_a_message(folder: Path, text: str, command: str) -> None:
    file = folder / "c.yaml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    result = CliRunner().invoke(main, [*command.split(), str(file)])
    assert result.exception is None or isinstance(result.exception, SystemExit), text
    assert result.exit_code in (0, 1, 3)
    assert result.exit_code != 1 or result.stderr.startswith(f"error: {file}"), result.stderr
