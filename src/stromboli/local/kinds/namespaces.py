"""Rules of namespaces."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli.local.api_server.errors import Cause, forbidden
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object
from stromboli.local.kinds.strategies import KindStrategy
from stromboli.local.kinds.validation.field_errors import wrong

_UNDELETABLE = ("default", "kube-system", "kube-public")
#: Initial namespaces.
INITIAL_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_NAME_LABEL = "kubernetes.io/metadata.name"


class NamespaceStrategy(KindStrategy):
    """A deleted namespace stays until it is empty."""

    def default(self, resource: ServedResource, body: Object) -> None:
        metadata = body["metadata"]
        labels = metadata.get("labels") or {}
        if labels.get(_NAME_LABEL) != metadata.get("name"):
            metadata["labels"] = {**labels, _NAME_LABEL: metadata.get("name")}

    def check(self, resource: ServedResource, body: Object) -> Iterator[Cause]:
        name = body["metadata"].get("name") or ""
        if "." in name:
            yield wrong("metadata.name", name, "must not contain dots")

    def start_status(self, resource: ServedResource, body: Object) -> None:
        body["spec"] = {"finalizers": ["kubernetes"]}
        body["status"] = {"phase": "Active"}

    def touch(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Object:
        """The finalizers change only through the `finalize` subresource."""
        merged = super().touch(resource, old, new, subresource)
        return merged if subresource == "finalize" else {**merged, "spec": old["spec"]}

    def delete_begins(self, resource: ServedResource, body: Object) -> None:
        name = body["metadata"]["name"]
        if name in _UNDELETABLE:
            raise forbidden(resource, name, "this namespace may not be deleted")
        body["status"] = {**(body.get("status") or {}), "phase": "Terminating"}

    def holds_back(self, body: Object) -> bool:
        return bool((body.get("spec") or {}).get("finalizers"))
