"""All controllers of one process, on one set of watches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stromboli.cache.jobs import DEFAULT_QUEUE
from stromboli.controllers.group_controller import GroupController
from stromboli.controllers.queue_controller import QueueController
from stromboli.kube.objects.catalogue import EARLY_NATIVE_POD_GROUPS, NATIVE_POD_GROUPS, POD_GROUPS, QUEUES
from stromboli.kube.watching.informer import Informer

if TYPE_CHECKING:
    from stromboli.kube.access.client import Client


class Controllers:
    """Groups for plain pods, the queues everybody expects, and what queues say of themselves."""

    def __init__(self, client: Client, scheduler_names: Sequence[str], default_queue: str = DEFAULT_QUEUE) -> None:
        self._pod_groups = Informer(client, POD_GROUPS)
        self._queues = Informer(client, QUEUES)
        self.groups = GroupController(client, self._pod_groups, scheduler_names, default_queue)
        served_somewhere = (NATIVE_POD_GROUPS, EARLY_NATIVE_POD_GROUPS)
        self._native_groups = [Informer(client, resource, optional=True) for resource in served_somewhere]
        self.queues = QueueController(client, self._queues, self._pod_groups, default_queue, self._native_groups)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for part in (self._pod_groups, self._queues, self.groups, self.queues):
                tasks.create_task(part.run())
            for informer in self._native_groups:
                tasks.create_task(informer.run())
