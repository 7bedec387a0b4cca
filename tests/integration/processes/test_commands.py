"""Commands and modules as processes: imports, output on a terminal and into closed files, crash points."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from stromboli import __version__
from stromboli.binding.process.crash_point_client import VARIABLE
from tests.unit.cli.test_topology_command import BUSY

ROOT = Path(__file__).parents[3]
HEAVY = ("numpy", "msgspec", "yaml", "rich", "aiohttp", "cryptography", "stromboli.core", "stromboli.kube")


def test_help_does_not_import_the_scheduler() -> None:
    code = "import sys\nfrom stromboli.cli import COMMANDS, main\n"
    code += "for name in ('', *COMMANDS, 'hypernodes discover', 'config check'):\n"
    code += "    main([*name.split(), '--help'], standalone_mode=False)\n"
    code += "print([name for name in sys.modules if name.startswith('stromboli') or '.' not in name])\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1]
    assert "'stromboli.cli.commands.ask.plan'" in loaded
    assert not [name for name in HEAVY if f"'{name}'" in loaded]


def test_core_names_do_not_load_the_kubernetes_client() -> None:
    code = "import sys, stromboli.api; print(*sorted(m for m in sys.modules if m.startswith('stromboli.kube')))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert loaded == []


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


def test_terminal_shows_a_tree(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(BUSY))
    seen = on_terminal(["topology", "-f", str(path)], NO_COLOR="1", COLUMNS="140")
    assert "\n├─ block-0 " in seen
    assert "\n│  ├─ rack-0 " in seen
    assert "\n│  └─ rack-1 " in seen
    assert "\n   └─ rack-3 " in seen


@pytest.mark.parametrize(("asked", "survives"), [("", 3), ("here", 0), ("here#3", 2), ("elsewhere", 3)])
def test_process_dies_at_the_crash_point(asked: str, survives: int) -> None:
    program = "from stromboli.binding.process.crash_point_client import crash_point\nfor _ in range(3):\n" \
        "    crash_point('here'); print('still there', flush=True)"  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, VARIABLE: asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.count("still there") == survives
