"""A terminal that commands are typed into, one after the other."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

DEADLINE = 40.0
SIZE = (40, 100)
_END = "--- end of command"


class Terminal:
    """A bash in a pseudo-terminal, whose output is read as it comes."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._screen, screen = pty.openpty()
        termios.tcsetwinsize(screen, SIZE)
        self._shell = subprocess.Popen(
            ["bash"], stdin=subprocess.PIPE, stdout=screen, stderr=screen, cwd=folder, env=environment,
            start_new_session=True,
        )  # fmt: skip
        os.close(screen)
        self._output = ""
        self.is_busy = False

    def run(self, command: str) -> tuple[str, int]:
        """Type a command and return its output and exit code."""
        self.start(command)
        return self._finish()

    def start(self, command: str) -> None:
        """Type a command, and do not wait for its end. `$?` of the next one is its exit code."""
        assert self._shell.stdin is not None
        assert not self.is_busy, f"a command still runs in this terminal: {command}"
        self._output, self.is_busy = "", True
        typed = f"{command}\nkept=$?; echo; echo '{_END}' $kept; (exit $kept)\n"
        self._shell.stdin.write(typed.encode())
        self._shell.stdin.flush()

    def wait_for(self, reached: Callable[[str], bool]) -> str:
        """Read until the output of the running command is as expected, and return it."""
        deadline = time.monotonic() + DEADLINE
        while not reached(self._output):
            left = deadline - time.monotonic()
            assert left > 0, f"no such output in time:\n{self._output}"
            if select.select([self._screen], [], [], left)[0]:
                self._output += os.read(self._screen, 65536).decode(errors="replace").replace("\r\n", "\n")
        return self._output

    def stop(self) -> tuple[str, int]:
        """Press Ctrl-C, and return the output and exit code of the command."""
        os.killpg(self._shell.pid, signal.SIGINT)
        return self._finish()

    def _finish(self) -> tuple[str, int]:
        output, _, code = self.wait_for(lambda output: _END in output and output.endswith("\n")).partition(_END)
        self.is_busy = False
        return output.removesuffix("\n"), int(code)

    def close(self) -> None:
        if self._shell.poll() is None:
            os.killpg(self._shell.pid, signal.SIGTERM)
        self._shell.communicate()
        os.close(self._screen)
