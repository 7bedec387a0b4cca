"""The main command: help, version, completion, and the reference of reason codes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stromboli import __version__
from stromboli.cli import COMMANDS, main
from stromboli.core.model.reasons import CODES, Code

ROOT = Path(__file__).parents[3]
HEAVY = ("numpy", "msgspec", "yaml", "rich", "aiohttp", "cryptography", "stromboli.core", "stromboli.kube")


def test_help_does_not_import_the_scheduler() -> None:
    code = "import sys\nfrom stromboli.cli import COMMANDS, main\n"
    code += "for name in ('', *COMMANDS, 'hypernodes discover', 'config check'):\n"
    code += "    main([*name.split(), '--help'], standalone_mode=False)\n"
    code += "print([name for name in sys.modules if name.startswith('stromboli') or '.' not in name])\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1]
    assert "'stromboli.cli.commands.plan'" in loaded
    assert not [name for name in HEAVY if f"'{name}'" in loaded]


def test_every_command_loads_and_has_the_help_of_the_list() -> None:
    for name, command in COMMANDS.items():
        result = CliRunner().invoke(main, [name, "--help"])
        assert result.exit_code == 0
        assert command.short_help.rstrip(".") in " ".join(result.stdout.split()), name


def test_version_is_printed() -> None:
    assert CliRunner().invoke(main, ["--version"]).stdout == f"stromboli {__version__}\n"


def test_module_runs_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "stromboli", "-V"], capture_output=True, text=True, check=True)
    assert done.stdout == f"stromboli {__version__}\n"


@pytest.mark.parametrize(
    ("redirection", "problem"), [(">/dev/full", "No space left on device"), (">&-", "standard output is closed")]
)
def test_unwritable_output_is_an_error_message(redirection: str, problem: str) -> None:
    line = f"{sys.executable} -m stromboli reasons {redirection}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"error: cannot write the output: {problem}\n")


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


# -- terminals --------------------------------------------------------------------------------------------------------


def on_terminal(arguments: list[str], **environment: str) -> str:
    """Return the output on a terminal of 100 columns."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "stromboli", *arguments]
    variables = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment}
    with subprocess.Popen(command, stdout=follower, stderr=follower, env=variables, cwd=ROOT) as process:
        os.close(follower)
        seen = b""
        while chunk := _read(leader):
            seen += chunk
        process.wait()
    os.close(leader)
    return seen.decode().replace("\r\n", "\n")


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 1 << 16)
    except OSError:  # the other end is closed
        return b""


def test_terminal_output_is_coloured_and_fitted() -> None:
    seen = on_terminal(["plan", "-f", "examples/cluster", "--explain"])
    plain = on_terminal(["plan", "-f", "examples/cluster", "--explain"], NO_COLOR="1")
    assert "\x1b[32mRunning" in seen
    assert "\x1b" not in plain
    assert max(len(line) for line in plain.splitlines()) <= 100
    assert "finetune waits: " in plain


def test_infinite_period_is_rejected() -> None:
    result = CliRunner().invoke(main, ["scheduler", "--schedule-period", "0"])
    assert result.exit_code == 2
    assert "too short" in result.stderr
