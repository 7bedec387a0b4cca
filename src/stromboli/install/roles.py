"""Roles of processes and of users, as documents.

Cluster-wide rights are a ClusterRole; the lease is a Role in the namespace of the process.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from stromboli.controllers.names import CONTROLLERS
from stromboli.install.controller_rights import controller_parts, controller_rights
from stromboli.install.installation import NAME, labels
from stromboli.install.rights import (
    POLICY_RIGHTS,
    USER_RIGHTS,
    Right,
    admission_rights,
    binder_rights,
    console_rights,
    lease_rights,
    scheduler_rights,
)

RBAC = "rbac.authorization.k8s.io"
PROCESSES = ("scheduler", "controller")
OPTIONAL = ("binder", "admission", "console")
"""Optional processes."""
LEASES = {"scheduler": "stromboli", "controller": "stromboli-controller", "binder": "stromboli-binder"}
"""The default lease of each process; processes without one run all replicas at once."""

#: The rules of the role for reading metrics.
METRICS_READER_RULES = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]

#: The aggregated roles of Kubernetes, by user role.
_PART_OF = {
    "view": ("view", "edit", "admin"),
    "edit": ("edit", "admin"),
    "queues": (),
    "user": ("view", "edit", "admin"),
    "viewer": (),
}

Document = dict[str, Any]


def role_documents(
    process: str,
    namespace: str,
    *,
    account: str = "",
    lease: str | None = None,
    evict_by_delete: bool = False,
    controllers: Collection[str] = CONTROLLERS,
    discover: bool = False,
    requests: bool = False,
    visibility: bool = True,
) -> list[Document]:
    """Roles and bindings of the service account of a process.

    `process` is one of PROCESSES or OPTIONAL. Without an `account`, it is the one that `stromboli manifests` creates.
    `lease` is the name of the lease; an empty one disables leader election. With `requests`, a scheduler writes bind
    requests instead of binding; with `visibility`, it answers people.
    """
    rights = rights_of(
        process, evict_by_delete=evict_by_delete, controllers=controllers, discover=discover, requests=requests
    )
    name, lease = f"{NAME}-{process}", LEASES.get(process, "") if lease is None else lease
    subject = {"kind": "ServiceAccount", "name": account or name, "namespace": namespace}
    parts = controller_parts(controllers, discover=discover) if process == "controller" else [rights]
    documents = [_role("ClusterRole", name, process, *parts), _binding("ClusterRole", name, process, subject)]
    own = POLICY_RIGHTS if process == "console" else lease_rights(lease) if lease else ()
    if own:
        documents += [
            _role("Role", name, process, own, namespace=namespace),
            _binding("Role", name, process, subject, namespace),
        ]
    if process == "scheduler" and visibility:
        documents.append(_proxy_binding(process, subject))
    return documents


def _proxy_binding(process: str, subject: Document) -> Document:
    """The right to read how the API server proves that it forwards a request; the role exists in every cluster."""
    binding = _binding("Role", f"{NAME}-{process}-authentication", process, subject, "kube-system")
    binding["roleRef"]["name"] = "extension-apiserver-authentication-reader"
    return binding


def rights_of(
    process: str,
    *,
    evict_by_delete: bool = False,
    controllers: Collection[str] = CONTROLLERS,
    discover: bool = False,
    requests: bool = False,
) -> tuple[Right, ...]:
    """Cluster-wide rights of a process. Raises ValueError."""
    if process == "scheduler":
        return scheduler_rights(evict_by_delete=evict_by_delete, requests=requests)
    if process == "controller":
        return controller_rights(controllers, discover=discover)
    if process == "binder":
        return binder_rights()
    if process == "admission":
        return admission_rights()
    if process == "console":
        return console_rights()
    raise ValueError(f"unknown process {process!r}; known: {', '.join((*PROCESSES, *OPTIONAL))}")


def metrics_reader_document() -> Document:
    """The role of Prometheus."""
    metadata = _metadata(f"{NAME}-metrics-reader", "users", "")
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": METRICS_READER_RULES}


def user_role_documents() -> list[Document]:
    """Roles of users for groups, queues and plans. Two of them are aggregated to the roles of Kubernetes."""
    documents = []
    for user, rights in USER_RIGHTS.items():
        role = _role("ClusterRole", f"{NAME}-{user}", "users", rights)
        role["metadata"]["labels"] |= {f"{RBAC}/aggregate-to-{part}": "true" for part in _PART_OF[user]}
        documents.append(role)
    return documents


def rules(rights: Iterable[Right]) -> list[Document]:
    """Rights as rules: resources of one group with the same verbs share a rule."""
    verbs: dict[tuple[str, str, tuple[str, ...]], set[str]] = {}
    for right in rights:
        verbs.setdefault((right.group, right.resource, right.names), set()).update(right.verbs)
    shared: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (group, resource, names), allowed in verbs.items():
        shared.setdefault((group, tuple(sorted(allowed)), names), []).append(resource)
    return [_rule(group, resources, allowed, names) for (group, allowed, names), resources in sorted(shared.items())]


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str], names: Sequence[str]) -> Document:
    rule: Document = {"apiGroups": [group], "resources": sorted(resources), "verbs": list(verbs)}
    return rule | {"resourceNames": list(names)} if names else rule


def _role(kind: str, name: str, component: str, *parts: Iterable[Right], namespace: str = "") -> Document:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": _metadata(name, component, namespace),
        "rules": [rule for rights in parts for rule in rules(rights)],
    }


def _binding(kind: str, name: str, component: str, subject: Document, namespace: str = "") -> Document:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": _metadata(name, component, namespace),
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [subject],
    }


def _metadata(name: str, component: str, namespace: str) -> Document:
    metadata = {"name": name, "labels": labels(component)}
    return {"namespace": namespace, **metadata} if namespace else metadata
