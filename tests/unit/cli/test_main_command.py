"""The main command: help, version, completion, and the reference of reason codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stromboli import __version__
from stromboli.cli import COMMANDS, main
from stromboli.core.model.reasons import CODES, Code

ROOT = Path(__file__).parents[3]


def test_every_command_loads_and_has_the_help_of_the_list() -> None:
    for name, command in COMMANDS.items():
        result = CliRunner().invoke(main, [name, "--help"])
        assert result.exit_code == 0
        assert command.short_help.rstrip(".") in " ".join(result.stdout.split()), name


def test_version_is_printed() -> None:
    assert CliRunner().invoke(main, ["--version"]).stdout == f"stromboli {__version__}\n"


# -- completion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert "_STROMBOLI_COMPLETE" in result.stdout


# -- reasons ----------------------------------------------------------------------------------------------------------


def test_reference_has_every_code() -> None:
    assert set(CODES) == set(Code)
    listed = json.loads(CliRunner().invoke(main, ["reasons", "-o", "json"]).stdout)
    assert list(listed) == [code.value for code in CODES]
    table = CliRunner().invoke(main, ["reasons"]).stdout
    assert all(f"\n{code.value} " in table for code in CODES)


def test_reference_page_is_up_to_date() -> None:
    page = (ROOT / "docs/reference/reasons.md").read_text()
    made = CliRunner().invoke(main, ["reasons", "-o", "markdown"]).stdout
    assert page == made, "run: stromboli reasons -o markdown > docs/reference/reasons.md"


def test_infinite_period_is_rejected() -> None:
    result = CliRunner().invoke(main, ["scheduler", "--schedule-period", "0"])
    assert result.exit_code == 2
    assert "too short" in result.stderr
