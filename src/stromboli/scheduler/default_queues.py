"""Creates the root queue and the default queue if no other process has: the controllers may be those of Volcano, or
start later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stromboli.cluster.standard_queues import create_queue, standard_queues
from stromboli.kube.work.work_queue import WorkQueue

if TYPE_CHECKING:
    from stromboli.cluster.state.cluster import Cluster
    from stromboli.kube.client.client import Client


class DefaultQueues:
    def __init__(self, client: Client, cluster: Cluster, default_queue: str, is_leader: Callable[[], bool]) -> None:
        self._client, self._cluster, self._is_leader = client, cluster, is_leader
        self._standard = {queue.metadata.name: queue for queue in standard_queues(default_queue)}
        self._work: WorkQueue[str] = WorkQueue(self._create, name="default queues")

    def create_missing(self) -> None:
        """Create the queues that do not exist, in the background."""
        for name in self._standard:
            if self._cluster.queues.find(name) is None:
                self._work.add(name)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._work.run()

    async def _create(self, name: str) -> None:
        if self._is_leader() and self._cluster.queues.find(name) is None:
            await create_queue(self._client, self._standard[name])
