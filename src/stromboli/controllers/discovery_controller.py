"""Keeps the HyperNodes that are discovered from node labels up to date."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stromboli.controllers.discovered_hypernodes import hyper_nodes_of
from stromboli.controllers.discovery_changes import changes_to, write
from stromboli.controllers.discovery_keys import Key
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.topology import KubeHyperNode
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

DEBOUNCE_SECONDS = 0.5
"""Changes within this many seconds are processed together."""

#: The only key of the queue.
_NETWORK = "network"

_log = logging.getLogger(__name__)


class DiscoveryController:
    def __init__(
        self, client: Client, hyper_nodes: Informer[KubeHyperNode], nodes: Informer[KubeNode], keys: Sequence[Key]
    ) -> None:
        self._client = client
        self._hyper_nodes, self._nodes, self._keys = hyper_nodes, nodes, keys
        self._found_nothing = False
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="discovery", workers=1)
        hyper_nodes.listen(self._hyper_node_changed)
        nodes.listen(self._node_changed)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._hyper_nodes.synced.wait()
        await self._nodes.synced.wait()
        self.work.add(_NETWORK)
        await self.work.run()

    def _hyper_node_changed(self, old: KubeHyperNode | None, new: KubeHyperNode | None) -> None:
        if old is None or new is None or old.spec != new.spec or old.metadata.labels != new.metadata.labels:
            self.work.add_after(_NETWORK, DEBOUNCE_SECONDS)

    def _node_changed(self, old: KubeNode | None, new: KubeNode | None) -> None:
        if old is None or new is None or old.metadata.labels != new.metadata.labels:
            self.work.add_after(_NETWORK, DEBOUNCE_SECONDS)

    async def _reconcile(self, _: str) -> None:
        """Reconcile the HyperNodes. Without any domain they stay: a label may be mistyped."""
        found = hyper_nodes_of((node.metadata.labels or {} for node in self._nodes.objects.values()), self._keys)
        if found:
            await write(self._client, changes_to(self._hyper_nodes.objects.values(), found))
        elif not self._found_nothing:
            labels = ", ".join(key.label for key in self._keys)
            _log.warning("no node has the discovery labels; keeping the HyperNodes", extra={"labels": labels})
        self._found_nothing = not found
