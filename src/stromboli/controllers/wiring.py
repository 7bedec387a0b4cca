"""All controllers of one process, on one set of watches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from stromboli.cluster.objects.pod_groups.pod_groups import DEFAULT_QUEUE
from stromboli.controllers.discovery_controller import DiscoveryController
from stromboli.controllers.discovery_keys import Key
from stromboli.controllers.group_controller import GroupController
from stromboli.controllers.hypernode_controller import HyperNodeController
from stromboli.controllers.queue_controller import QueueController
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects.catalogue import (
    EARLY_NATIVE_POD_GROUPS,
    HYPER_NODES,
    NATIVE_POD_GROUPS,
    NODES,
    POD_GROUPS,
    QUEUES,
)
from stromboli.kube.watch.informer import Informer

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

EVENT_REPEAT_SECONDS = 2.0
"""How soon it is told that something happened again, in seconds: what controllers tell happens seldom."""


class _Part(Protocol):
    """What runs until it is cancelled."""

    async def run(self) -> None: ...


class Controllers:
    """Groups for plain pods, the queues everybody expects, and what queues and HyperNodes say of themselves."""

    def __init__(
        self,
        client: Client,
        scheduler_names: Sequence[str],
        default_queue: str = DEFAULT_QUEUE,
        discovery_keys: Sequence[Key] = (),
    ) -> None:
        pod_groups = Informer(client, POD_GROUPS)
        queues = Informer(client, QUEUES)
        self.groups = GroupController(client, pod_groups, scheduler_names, default_queue)
        served_somewhere = (NATIVE_POD_GROUPS, EARLY_NATIVE_POD_GROUPS)
        native_groups = [Informer(client, resource, optional=True) for resource in served_somewhere]
        self.queues = QueueController(client, queues, pod_groups, default_queue, native_groups)
        hyper_nodes, nodes = Informer(client, HYPER_NODES, optional=True), Informer(client, NODES)
        recorder = EventRecorder(client, "stromboli-controller", repeat_seconds=EVENT_REPEAT_SECONDS)
        self.hyper_nodes = HyperNodeController(client, hyper_nodes, nodes, recorder)
        self._parts: list[_Part] = [
            pod_groups, queues, *native_groups, hyper_nodes, nodes, recorder,
            self.groups, self.queues, self.hyper_nodes,
        ]  # fmt: skip
        if discovery_keys:
            self._parts.append(DiscoveryController(client, hyper_nodes, nodes, discovery_keys))

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for part in self._parts:
                tasks.create_task(part.run())
