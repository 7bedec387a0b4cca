"""An installation as documents for `kubectl apply`, ordered so that each finds its dependencies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stromboli.core.config.config_map import PREFERRED_KEY
from stromboli.install.gpu_sharing import gpu_sharing_documents
from stromboli.install.installation import NAME, Installation, labels
from stromboli.install.network_policies import network_policy_documents
from stromboli.install.processes import configuration_name, processes
from stromboli.install.roles import metrics_reader_document, role_documents, user_role_documents
from stromboli.install.workloads import visibility_documents, workload_documents
from stromboli.kube.crds.install import crd_documents

Document = dict[str, Any]


def installation_documents(installation: Installation, parts: Sequence[str] = ()) -> list[Document]:
    """Build the documents of these parts, by default of all. `parts` are keys of PARTS, in any order."""
    chosen = [make for name, make in PARTS.items() if not parts or name in parts]
    return [document for make in chosen for document in make(installation)]


def _namespace(installation: Installation) -> list[Document]:
    security = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    metadata = {"name": installation.namespace, "labels": {"app.kubernetes.io/part-of": NAME, **security}}
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}]


def _roles(installation: Installation) -> list[Document]:
    names = [process.component for process in processes(installation)]
    documents = [_account(process, installation) for process in names]
    for process in names:
        documents += role_documents(
            process,
            installation.namespace,
            evict_by_delete=installation.evict_by_delete,
            controllers=installation.controllers,
            discover=bool(installation.discover_hypernodes),
            requests=installation.binder,
            visibility=installation.visibility,
        )
    if installation.share_gpus:
        documents += gpu_sharing_documents("binder" if installation.binder else "scheduler", installation.namespace)
    return [*documents, *user_role_documents(), metrics_reader_document()]


def _account(process: str, installation: Installation) -> Document:
    """Pods mount the token only on request."""
    metadata = {"name": f"{NAME}-{process}", "namespace": installation.namespace, "labels": labels(process)}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "automountServiceAccountToken": False}


def _configuration(installation: Installation) -> list[Document]:
    name, namespace = configuration_name(), installation.namespace
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "labels": labels("scheduler")},
            "data": {PREFERRED_KEY: installation.configuration},
        }
    ]


def _workloads(installation: Installation) -> list[Document]:
    documents = [each for process in processes(installation) for each in workload_documents(process, installation)]
    return [*documents, *(visibility_documents(installation) if installation.visibility else ())]


PARTS: dict[str, Callable[[Installation], list[Document]]] = {
    "namespace": _namespace,
    "crds": lambda installation: crd_documents(),
    "roles": _roles,
    "network-policies": network_policy_documents,
    "configuration": _configuration,
    "workloads": _workloads,
}
"""The parts of an installation by name."""
