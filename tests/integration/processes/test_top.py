"""`stromboli top` on a terminal."""

from __future__ import annotations

import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl

from tests.integration.processes.conftest import ROOT

_ROWS, _COLUMNS = 24, 100


def test_top_answers_keys_and_gives_the_terminal_back() -> None:
    leader, follower = pty.openpty()
    ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    before = termios.tcgetattr(follower)
    command = [sys.executable, "-m", "stromboli", "top", "-f", "examples/cluster"]
    sized = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment = {**sized, "TERM": "xterm-256color", "NO_COLOR": "1"}
    process = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, cwd=ROOT, env=environment, start_new_session=True
    )
    try:
        assert "research    finetune  research    Inqueue" in read_until(leader, "q: quit")
        os.write(leader, b"3")
        assert "taint gpu=true:NoSchedule" in read_until(leader, "node-c")
        os.write(leader, b"q")
        assert process.wait(timeout=20) == 0
        assert read_until(leader, "\x1b[?1049l")  # the normal screen is back
        assert termios.tcgetattr(follower) == before
    finally:
        process.kill()
        process.wait()
        os.close(leader)
        os.close(follower)


def read_until(terminal: int, text: str) -> str:
    """Return what the terminal shows until this text."""
    shown, deadline = "", time.monotonic() + 30
    while text not in shown and time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 1 << 16).decode("utf-8", "replace")
    assert text in shown, shown
    return shown
