"""Our processes come with the rights that we install, and with no others."""

from __future__ import annotations

from typing import Any

from stromboli.install.roles import OPTIONAL, PROCESSES, role_documents
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client
from testbed.plane import NAMESPACE, REQUESTER, ControlPlane

_ADMITTED: set[str] = set()


async def admit(plane: ControlPlane, client: Client) -> None:
    """Make our namespace and give the accounts of our processes their roles, once; the embedded server knows none."""
    if plane.url in _ADMITTED:
        return
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    roles = [document for process in (*PROCESSES, *OPTIONAL) for document in role_documents(process, NAMESPACE)]
    await Applier(client).apply([namespace, *([*roles, *_of_a_requester()] if plane.kind == "real" else [])])
    _ADMITTED.add(plane.url)


def _of_a_requester() -> list[dict[str, Any]]:
    """A scheduler that leaves binding to a binder, beside one that does not: by a name of its own."""
    name = f"stromboli-{REQUESTER}"
    documents = role_documents("scheduler", NAMESPACE, account=name, requests=True)
    for document in documents:
        document["metadata"]["name"] = name
        if "roleRef" in document:
            document["roleRef"]["name"] = name
    return documents
