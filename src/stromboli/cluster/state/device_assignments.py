"""Devices that are assigned to pods on nodes."""

from __future__ import annotations

from collections.abc import Mapping

from stromboli.cluster.objects.pods.device_requests import assignments_in
from stromboli.cluster.objects.pods.pods import PodRecord
from stromboli.core.model.devices.shared_devices import DeviceUser, DeviceUsers


class DeviceAssignments:
    """Pods on nodes with assigned devices. Updated pod by pod; a returned mapping never changes."""

    def __init__(self) -> None:
        self._claims: dict[str, dict[str, DeviceUser]] = {}
        self._nodes: dict[str, str] = {}
        #: The last returned mapping, until something changes.
        self._returned: DeviceUsers | None = None

    def claims(self) -> DeviceUsers:
        if self._returned is None:
            self._returned = dict(self._claims)
        return self._returned

    def enter(self, record: PodRecord, node: str, annotations: Mapping[str, str], *, leaving: bool) -> None:
        """Add a pod that occupies a node. `annotations` are those of a binding in progress."""
        metadata = record.pod.metadata
        if not metadata.annotations and not annotations:
            return
        assigned = {**assignments_in(metadata.annotations or {}), **annotations}
        if not assigned:
            return
        requests = record.facts.devices if record.facts else None
        claim = DeviceUser(metadata.uid, record.pod.key, record.job, assigned, metadata.labels or {}, requests, leaving)
        self._claims[node] = {**self._claims.get(node, {}), metadata.uid: claim}
        self._nodes[metadata.uid] = node
        self._returned = None

    def forget(self, uid: str) -> None:
        node = self._nodes.pop(uid, None)
        if node is None:
            return
        left = {other: claim for other, claim in self._claims[node].items() if other != uid}
        if left:
            self._claims[node] = left
        else:
            del self._claims[node]
        self._returned = None
