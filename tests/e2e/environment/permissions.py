"""The processes run with the permissions that an installation grants, and no others."""

from __future__ import annotations

from typing import Any

from stromboli.install.roles import OPTIONAL, PROCESSES, RBAC, role_documents, user_role_documents
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client
from testbed.plane import NAMESPACE, REQUESTER, VIEWER, ControlPlane

_ADMITTED: set[str] = set()


async def admit(plane: ControlPlane, client: Client) -> None:
    """Create the namespace and bind the roles of the process accounts, once; the embedded server has no RBAC."""
    if plane.url in _ADMITTED:
        return
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    roles = [document for process in (*PROCESSES, *OPTIONAL) for document in role_documents(process, NAMESPACE)]
    further = [*_of_a_requester(), *_of_a_viewer()]
    await Applier(client).apply([namespace, *([*roles, *further] if plane.kind == "real" else [])])
    _ADMITTED.add(plane.url)


def _of_a_viewer() -> list[dict[str, Any]]:
    """The role of people who plan in a cluster, bound to one of them."""
    name = f"stromboli-{VIEWER}"
    [role] = [each for each in user_role_documents() if each["metadata"]["name"] == name]
    binding = {
        "apiVersion": role["apiVersion"],
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
    }
    return [role, binding]


def _of_a_requester() -> list[dict[str, Any]]:
    """Bindings of a scheduler that leaves binding to a binder, under a second account name."""
    name = f"stromboli-{REQUESTER}"
    documents = role_documents("scheduler", NAMESPACE, account=name, requests=True)
    for document in documents:
        document["metadata"]["name"] = name
        if "roleRef" in document:
            document["roleRef"]["name"] = name
    return documents
