"""The roles of processes and of people, as the documents that an API server takes.

What a process may do in the whole cluster is a ClusterRole; its lease is a matter of its own namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stromboli.install.labels import NAME, labels
from stromboli.install.rights import (
    USER_RIGHTS,
    Right,
    admission_rights,
    binder_rights,
    controller_rights,
    lease_rights,
    scheduler_rights,
)

RBAC = "rbac.authorization.k8s.io"
PROCESSES = ("scheduler", "controller")
OPTIONAL = ("binder", "admission")
"""Processes that an installation has only where somebody wants them."""
LEASES = {"scheduler": "stromboli", "controller": "stromboli-controller", "binder": "stromboli-binder"}
"""The lease that each process holds while it works, unless told otherwise; of the others, every replica works."""

#: By user role, the roles of Kubernetes that it becomes a part of.
_PART_OF = {"view": ("view", "edit", "admin"), "edit": ("edit", "admin"), "queues": ()}

Document = dict[str, Any]


def role_documents(
    process: str,
    namespace: str,
    *,
    account: str = "",
    lease: str | None = None,
    evict_by_delete: bool = False,
    discover: bool = False,
    requests: bool = False,
) -> list[Document]:
    """Everything that the service account of a process may do, and the bindings that give it to the account.

    `process` is one of PROCESSES or OPTIONAL. Without an `account`, it is the one that `stromboli manifests` makes.
    `lease` is the name of the lease; an empty one means that there is no election. A scheduler may write `requests` for
    a binder in place of binding.
    """
    rights = rights_of(process, evict_by_delete=evict_by_delete, discover=discover, requests=requests)
    name, lease = f"{NAME}-{process}", LEASES.get(process, "") if lease is None else lease
    subject = {"kind": "ServiceAccount", "name": account or name, "namespace": namespace}
    documents = [
        _role("ClusterRole", name, process, rights),
        _binding("ClusterRole", name, process, subject),
    ]
    if lease:
        documents += [
            _role("Role", name, process, lease_rights(lease), namespace),
            _binding("Role", name, process, subject, namespace),
        ]
    return documents


def rights_of(
    process: str, *, evict_by_delete: bool = False, discover: bool = False, requests: bool = False
) -> tuple[Right, ...]:
    """What a process may do in the whole cluster. Raises ValueError."""
    if process == "scheduler":
        return scheduler_rights(evict_by_delete=evict_by_delete, requests=requests)
    if process == "controller":
        return controller_rights(discover=discover)
    if process == "binder":
        return binder_rights()
    if process == "admission":
        return admission_rights()
    raise ValueError(f"there is no process {process!r}; there are {', '.join((*PROCESSES, *OPTIONAL))}")


def user_role_documents() -> list[Document]:
    """What people may do with groups and queues. Two of them join the roles that people have already."""
    documents = []
    for user, rights in USER_RIGHTS.items():
        role = _role("ClusterRole", f"{NAME}-{user}", "users", rights)
        role["metadata"]["labels"] |= {f"{RBAC}/aggregate-to-{part}": "true" for part in _PART_OF[user]}
        documents.append(role)
    return documents


def rules(rights: Iterable[Right]) -> list[Document]:
    """Rights as rules: resources of one group that allow the same verbs share one."""
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


def _role(kind: str, name: str, component: str, rights: Iterable[Right], namespace: str = "") -> Document:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": _metadata(name, component, namespace),
        "rules": rules(rights),
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
