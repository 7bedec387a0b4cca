"""The local API server in a process of its own, as a control plane."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from testbed.plane import ADMINISTRATOR, ControlPlane

ROOT = Path(__file__).parents[1]


@contextlib.contextmanager
def embedded_plane(*, bare: bool = False, native_groups: bool = False) -> Iterator[ControlPlane]:
    """Start the server; it ends with the context. A bare one has no CRDs of Volcano."""
    flags = {"--bare": bare, "--native-groups": native_groups}
    command = [sys.executable, "-m", "testbed.embedded_server", *(flag for flag, given in flags.items() if given)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdout is not None
        try:
            yield ControlPlane("embedded", {ADMINISTRATOR: Path(server.stdout.readline().strip())})
        finally:
            server.terminate()
