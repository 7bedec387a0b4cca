"""All controllers of one process, on one set of watches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

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
    VOLCANO_COMMANDS,
)
from stromboli.kube.watch.informer import Informer
from stromboli.workloads.queues import DEFAULT_QUEUE

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

EVENT_REPEAT_SECONDS = 2.0
"""The seconds after which repeated events are written."""


class _Service(Protocol):
    """Runs until it is cancelled."""

    async def run(self) -> None: ...


class Controllers:
    """Builds and runs all controllers."""

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
        native_resources = (NATIVE_POD_GROUPS, EARLY_NATIVE_POD_GROUPS)
        native_groups = [Informer(client, resource, optional=True) for resource in native_resources]
        commands = Informer(client, VOLCANO_COMMANDS, optional=True)
        recorder = EventRecorder(client, "stromboli-controller", repeat_seconds=EVENT_REPEAT_SECONDS)
        self.queues = QueueController(client, queues, pod_groups, commands, recorder, default_queue, native_groups)
        hyper_nodes, nodes = Informer(client, HYPER_NODES, optional=True), Informer(client, NODES)
        self.hyper_nodes = HyperNodeController(client, hyper_nodes, nodes, recorder)
        self._services: list[_Service] = [
            pod_groups, queues, *native_groups, commands, hyper_nodes, nodes, recorder,
            self.groups, self.queues, self.hyper_nodes,
        ]  # fmt: skip
        if discovery_keys:
            self._services.append(DiscoveryController(client, hyper_nodes, nodes, discovery_keys))

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for service in self._services:
                tasks.create_task(service.run())
