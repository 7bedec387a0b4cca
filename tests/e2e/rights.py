"""Our processes come with the rights that we install, and with no others."""

from __future__ import annotations

from stromboli.install.roles import OPTIONAL, PROCESSES, role_documents
from stromboli.kube.access.client import Client
from stromboli.kube.applying import Applier
from testbed.plane import NAMESPACE, ControlPlane

_ADMITTED: set[str] = set()


async def admit(plane: ControlPlane, client: Client) -> None:
    """Make our namespace and give the accounts of our processes their roles, once; the embedded server knows none."""
    if plane.url in _ADMITTED:
        return
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    roles = [document for process in (*PROCESSES, *OPTIONAL) for document in role_documents(process, NAMESPACE)]
    await Applier(client).apply([namespace, *(roles if plane.kind == "real" else [])])
    _ADMITTED.add(plane.url)
