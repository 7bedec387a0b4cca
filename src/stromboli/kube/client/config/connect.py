"""Selection of the connection, as kubectl does: explicit options, else kubeconfig files, else the service account."""

from __future__ import annotations

from dataclasses import replace

from stromboli.kube.client.config.connection import Connection, ConnectionProblem
from stromboli.kube.client.config.in_cluster import in_cluster_connection, is_in_cluster
from stromboli.kube.client.config.kubeconfig import kubeconfig_exists, load_kubeconfig
from stromboli.kube.client.config.tls import Trust


def connect(kubeconfig: str | None = None, context: str | None = None, master: str | None = None) -> Connection:
    """Return the connection to use. Raises ConnectionProblem. `master` overrides the server's address in any case."""
    if kubeconfig or context or kubeconfig_exists():
        found = load_kubeconfig(kubeconfig, context)
    elif is_in_cluster():
        found = in_cluster_connection()
    elif master:
        found = _bare(master)
    else:
        raise ConnectionProblem("no cluster is configured; name a kubeconfig file, set KUBECONFIG, or run in a pod")
    return _moved(found, master) if master else found


def _bare(master: str) -> Connection:
    return Connection(master, Trust().context() if master.startswith("https:") else None)


def _moved(found: Connection, master: str) -> Connection:
    return replace(found, server=master.rstrip("/"))
