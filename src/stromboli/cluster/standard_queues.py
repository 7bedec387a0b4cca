"""The queues that always exist: the root, and the default one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from stromboli import kube
from stromboli.core.model.queues.queue import ROOT
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import QUEUES
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.volcano import QueueSpec

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


def standard_queues(default: str = "default") -> tuple[kube.KubeQueue, ...]:
    return (
        kube.KubeQueue(metadata=ObjectMeta(name=ROOT, uid=ROOT), spec=QueueSpec(weight=1, reclaimable=False)),
        kube.KubeQueue(metadata=ObjectMeta(name=default, uid=default), spec=QueueSpec(weight=1, reclaimable=True)),
    )


async def create_queue(client: Client, queue: kube.KubeQueue) -> bool:
    """Create a queue; return False if another process has created it."""
    body = {"metadata": {"name": queue.metadata.name}, "spec": msgspec.to_builtins(queue.spec)}
    try:
        await client.create(QUEUES, body)
    except ApiError as error:
        if not error.is_conflict:
            raise
        return False
    return True
