"""The controllers of Kubernetes beside a real API server: Jobs, Deployments, garbage collection, quotas and so on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from testbed.assets import find
from testbed.plane import ControlPlane
from testbed.real import running

#: Nodes are simulated, and so is the controller of their health.
CONTROLLERS = tuple(
    f"{name}-controller"
    for name in (
        "clusterrole-aggregation", "cronjob", "daemonset", "deployment", "disruption", "garbage-collector", "job",
        "namespace", "replicaset", "replicationcontroller", "resourcequota", "statefulset", "ttl-after-finished",
    )
)  # fmt: skip


@contextlib.contextmanager
def controller_manager(plane: ControlPlane, folder: Path, *, own_accounts: bool = False) -> Iterator[None]:
    """Run kube-controller-manager as the administrator, or each controller with its own service account, as clusters
    do; it ends with the context. Raises NoAssets.
    """
    flags = [
        f"--kubeconfig={plane.kubeconfig}",
        f"--controllers={','.join(CONTROLLERS)}",
        "--leader-elect=false",
        f"--use-service-account-credentials={'true' if own_accounts else 'false'}",
        "--secure-port=0",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]
    with running(find("kube-controller-manager"), flags, folder / "controller-manager.log"):
        yield
