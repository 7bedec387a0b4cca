"""`stromboli demo` as a process: in a pipe, on a terminal, and stopped."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
from pathlib import Path

from tests.integration.processes.conftest import KUBECTL, ROOT, STROMBOLI, Command

SUMMARY = r"In (?P<seconds>\d+) s, (?P<bound>\d+) pods were bound and \d+ evicted:"
_MOVES = re.compile(r"\x1b\[\?1049[hl]|\x1b\[H|\x1b\[\?25[hl]|\x1b\[[0-9;]*m")


def environment(folder: Path) -> dict[str, str]:
    return {"HOME": str(folder), "PATH": os.environ["PATH"]}


def test_demo_in_a_pipe_prints_changes_works_with_kubectl_and_ends_with_a_summary(tmp_path: Path) -> None:
    """It is interrupted once the gang runs: no outcome depends on how much happens within a duration."""
    config = tmp_path / "demo.kubeconfig"
    command = Command("demo", f"--kubeconfig={config}", environment=environment(tmp_path), folder=tmp_path)
    try:
        command.wait_for_output("train: Running, 6 of 6 pods running")
        groups = subprocess.run(
            [KUBECTL, f"--kubeconfig={config}", "get", "podgroups"], capture_output=True, check=True
        )
        assert b"train" in groups.stdout
        command.signal(signal.SIGINT)
        assert command.ends() == 0
    finally:
        command.kill()
    assert "1/6  Two gangs start" in command.output
    summary = re.search(SUMMARY, command.output)
    assert summary is not None
    assert int(summary["bound"]) >= 6, "at least the gang that the output reports as running"
    assert "stromboli examples copy" in command.output
    assert "\x1b" not in command.output
    assert "Traceback" not in command.output
    assert not config.exists()


def test_demo_on_a_terminal_ends_after_its_duration_without_colours(tmp_path: Path) -> None:
    """All lines of a frame fit, `NO_COLOR` leaves no colours, and the default kubeconfig is removed at the end."""
    master, terminal = pty.openpty()
    size = {"COLUMNS": "80", "LINES": "24", "TERM": "xterm-256color", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [str(STROMBOLI), "demo", "--for=2s"], stdout=terminal, env={**environment(tmp_path), **size}, cwd=ROOT
    )
    os.close(terminal)
    text = read_all(master)
    assert process.wait() == 0
    summary = re.search(SUMMARY, text)
    assert summary is not None
    assert int(summary["seconds"]) >= 2
    assert not list((tmp_path / ".local/state/stromboli").iterdir())
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", text)
    frames = [_MOVES.sub("", frame).split("\r\n") for frame in text.split("\x1b[H") if "stromboli demo" in frame]
    assert frames
    assert all(len(frame) == 24 and max(map(len, frame)) <= 80 for frame in frames[:-1])


def read_all(master: int) -> str:
    parts = []
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(master)
    return b"".join(parts).decode()
