"""The connection of a pod: address from the environment, token and CA of the mounted service account."""

from __future__ import annotations

import os
from pathlib import Path

from stromboli.kube.client.config.connection import Connection, ConnectionProblem
from stromboli.kube.client.config.credentials import TokenFile
from stromboli.kube.client.config.tls import Trust

FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def is_in_cluster(folder: Path = FOLDER) -> bool:
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and (folder / "token").exists()


def in_cluster_connection(folder: Path = FOLDER) -> Connection:
    """Return the pod's own connection. Raises ConnectionProblem outside of a pod."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise ConnectionProblem("KUBERNETES_SERVICE_HOST is not set: not running in a pod; name a kubeconfig file")
    try:
        context = Trust((folder / "ca.crt").read_bytes()).context()
    except (OSError, ValueError) as error:
        raise ConnectionProblem(f"{folder / 'ca.crt'}: {error}; mount the service account's token") from None
    address = f"[{host}]" if ":" in host else host
    return Connection(f"https://{address}:{port}", context, TokenFile(str(folder / "token")), namespace=_home(folder))


def _home(folder: Path) -> str:
    try:
        return (folder / "namespace").read_text(encoding="ascii").strip() or "default"
    except (OSError, ValueError):
        return "default"
