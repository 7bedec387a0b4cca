"""kube-scheduler beside Stromboli, on a real control plane."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from testbed.assets import find
from testbed.plane import ControlPlane
from testbed.real import running


@contextlib.contextmanager
def kube_scheduler(plane: ControlPlane, folder: Path) -> Iterator[None]:
    """Run kube-scheduler as the administrator; it ends with the context. Raises NoAssets."""
    flags = [
        f"--kubeconfig={plane.kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]
    with running(find("kube-scheduler"), flags, folder / "kube-scheduler.log"):
        yield
