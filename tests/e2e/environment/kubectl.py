"""The real kubectl, called by a running test."""

from __future__ import annotations

import asyncio
import os
import sysconfig
from pathlib import Path

from testbed.plane import ControlPlane

_BINARY = Path(sysconfig.get_path("scripts")) / "kubectl"
_TIMEOUT = 60.0


async def kubectl(plane: ControlPlane, *words: str, stdin: str = "") -> str:
    """Output of kubectl, run as the administrator of a server."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(plane.kubeconfig.parent),
        "KUBECONFIG": str(plane.kubeconfig),
    }
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(
        _BINARY, *words, stdin=pipe, stdout=pipe, stderr=pipe, env=environment
    )
    async with asyncio.timeout(_TIMEOUT):
        said, complaints = await running.communicate(stdin.encode())
    assert running.returncode == 0, f"kubectl {' '.join(words)}: {complaints.decode()}"
    return said.decode()
