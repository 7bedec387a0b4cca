"""GPU sharing: the namespace of reservation pods, and the rights of the binding process in it.

Granted only if the installation enables GPU sharing.
"""

from __future__ import annotations

from collections.abc import Iterable

from stromboli.install.installation import NAME, labels
from stromboli.install.rights import Right
from stromboli.install.roles import RBAC, Document, rules
from stromboli.kube.objects.catalogue import CONFIG_MAPS, PODS

RESERVATIONS = "stromboli-reservations"

SHARES_GPUS = (
    Right(
        CONFIG_MAPS.group,
        CONFIG_MAPS.plural,
        ("get", "create", "patch", "delete"),
        "write the shared GPUs of a pod into its config map",
    ),
)
HOLDS_GPUS = (Right(PODS.group, PODS.plural, ("get", "create", "delete"), "reserve shared GPUs"),)
"""Rights in the namespace of the reservation pods."""


def gpu_sharing_documents(process: str, namespace: str) -> list[Document]:
    """Build the documents for the process that binds pods, whose account is in `namespace`."""
    security = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    subject = {"kind": "ServiceAccount", "name": f"{NAME}-{process}", "namespace": namespace}
    metadata = {"name": RESERVATIONS, "labels": {"app.kubernetes.io/part-of": NAME, **security}}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata},
        *_granted("ClusterRole", process, SHARES_GPUS, subject, {}),
        *_granted("Role", process, HOLDS_GPUS, subject, {"namespace": RESERVATIONS}),
    ]


def _granted(
    kind: str, process: str, rights: Iterable[Right], subject: Document, where: dict[str, str]
) -> list[Document]:
    name = f"{NAME}-{process}-gpus"
    metadata = {**where, "name": name, "labels": labels(process)}
    role = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules(rights)}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [subject],
    }
    return [role, binding]
