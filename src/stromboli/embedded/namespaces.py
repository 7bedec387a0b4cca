"""The rules of namespaces."""

from __future__ import annotations

from stromboli.embedded.registry import ServedResource
from stromboli.embedded.store import Object
from stromboli.embedded.strategies import Strategy

#: There from the start.
INITIAL_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_NAME_LABEL = "kubernetes.io/metadata.name"


class NamespaceStrategy(Strategy):
    """A namespace is there until it is empty."""

    def default(self, resource: ServedResource, body: Object) -> None:
        metadata = body["metadata"]
        labels = metadata.get("labels") or {}
        if labels.get(_NAME_LABEL) != metadata.get("name"):
            metadata["labels"] = {**labels, _NAME_LABEL: metadata.get("name")}
        if not (body.get("spec") or {}).get("finalizers"):
            body["spec"] = {**(body.get("spec") or {}), "finalizers": ["kubernetes"]}

    def start_status(self, resource: ServedResource, body: Object) -> None:
        body["status"] = {"phase": "Active"}

    def delete_begins(self, resource: ServedResource, body: Object) -> None:
        body["status"] = {**(body.get("status") or {}), "phase": "Terminating"}

    def holds_back(self, body: Object) -> bool:
        return bool(body["spec"].get("finalizers"))
