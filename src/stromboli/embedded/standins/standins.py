"""All stand-ins of one process, on one set of watches."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from stromboli.embedded.standins.garbage import GarbageCollector
from stromboli.embedded.standins.kubelets import Kubelets
from stromboli.embedded.standins.node_life import HEARTBEAT, PATIENCE, NodeLife
from stromboli.kube.catalogue import NODES, PODS
from stromboli.kube.informer import Informer

if TYPE_CHECKING:
    from stromboli.kube.client import Client


class StandIns:
    """What a bare API server lacks to be a cluster. `heartbeat` and `patience` are those of its nodes."""

    def __init__(self, client: Client, *, heartbeat: float = HEARTBEAT, patience: float = PATIENCE) -> None:
        self._nodes, self._pods = Informer(client, NODES), Informer(client, PODS)
        self.kubelets = Kubelets(client, self._nodes, self._pods)
        self.node_life = NodeLife(client, self._nodes, self._pods, heartbeat=heartbeat, patience=patience)
        self.garbage = GarbageCollector(client)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for part in (self._nodes, self._pods, self.kubelets, self.node_life, self.garbage):
                tasks.create_task(part.run())
