"""Which pods on which nodes say that they were given devices that pods share."""

from __future__ import annotations

from collections.abc import Mapping

from stromboli.cluster.objects.pods.device_requests import assignments_in
from stromboli.cluster.objects.pods.pods import PodRecord
from stromboli.core.model.devices.shared_devices import DeviceClaim, DeviceClaims


class DeviceAssignments:
    """The pods on nodes that say they were given devices. Kept pod by pod; what was handed out stays as it is."""

    def __init__(self) -> None:
        self._claims: dict[str, dict[str, DeviceClaim]] = {}
        self._nodes: dict[str, str] = {}
        #: What was handed out, until something changes.
        self._handed_out: DeviceClaims | None = None

    def claims(self) -> DeviceClaims:
        if self._handed_out is None:
            self._handed_out = dict(self._claims)
        return self._handed_out

    def enter(self, record: PodRecord, node: str, given: Mapping[str, str], *, leaving: bool) -> None:
        """A pod takes room on a node. `given` is what travels with its binding, while it is being bound."""
        metadata = record.pod.metadata
        said = {**assignments_in(metadata.annotations or {}), **given}
        if not said:
            return
        wishes = record.facts.devices if record.facts else None
        claim = DeviceClaim(metadata.uid, record.pod.key, record.job, said, metadata.labels or {}, wishes, leaving)
        self._claims[node] = {**self._claims.get(node, {}), metadata.uid: claim}
        self._nodes[metadata.uid] = node
        self._handed_out = None

    def forget(self, uid: str) -> None:
        node = self._nodes.pop(uid, None)
        if node is None:
            return
        left = {other: claim for other, claim in self._claims[node].items() if other != uid}
        if left:
            self._claims[node] = left
        else:
            del self._claims[node]
        self._handed_out = None
