"""Locks a node while its device plugin allocates the devices of one pod.

The kubelet asks a device plugin for devices without naming the pod, so the plugin assumes the pod that was bound last
and would confuse two at a time. The lock is an annotation of the node with a timestamp: set here before the binding,
removed by the device plugin when it is done, and expired after five minutes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from stromboli.binding.steps.step import StepFailed
from stromboli.core.model.devices.shared_devices import NODE_LOCK
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import NODES
from stromboli.kube.objects.cluster import KubeNode

#: Seconds after which a lock expires, for device plugins as well.
EXPIRES_AFTER = 300.0
#: Seconds to wait for the lock of another pod, and between two reads of it.
MAX_WAIT = 30.0
_POLL_INTERVAL = 0.25
_FORBIDDEN = 403


class _HeldLock(NamedTuple):
    key: str
    value: str
    since: float


class NodeLock:
    """A step for placements that request it by an annotation."""

    name = "the node lock"

    def __init__(
        self, client: Client, *, max_wait: float = MAX_WAIT, wall_clock: Callable[[], float] = time.time
    ) -> None:
        self._client = client
        self._max_wait = max_wait
        self._wall_clock = wall_clock
        #: Locks taken by this process, by the uid of the pod.
        self._held: dict[str, _HeldLock] = {}

    async def prepare(self, placement: Placement) -> None:
        key = placement.annotations.get(NODE_LOCK)
        if not key:
            return
        self._held.pop(placement.uid, None)
        deadline = time.monotonic() + self._max_wait
        while not await self._take(placement, key):
            if time.monotonic() >= deadline:
                raise StepFailed(
                    f"node {placement.node} has been locked for {self._max_wait:g} s (annotation {key}): "
                    "its device plugin is busy with another pod, or does not respond"
                )
            await asyncio.sleep(_POLL_INTERVAL)

    async def undo(self, placement: Placement) -> None:
        """Unlock the node, unless another pod has locked it since."""
        held = self._held.pop(placement.uid, None)
        if held is None:
            return
        try:
            node = await self._client.get(NODES, placement.node)
            if _lock_of(node, held.key) == held.value:
                await self._write(node, held.key, None)
        except ApiError as error:
            if not error.is_missing:
                raise

    async def _take(self, placement: Placement, key: str) -> bool:
        """Lock the node if it is free. The resource version makes sure that only one of two writers succeeds."""
        try:
            node = await self._client.get(NODES, placement.node)
            if not self._is_free(_lock_of(node, key)):
                return False
            value = datetime.fromtimestamp(self._wall_clock(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            await self._write(node, key, value)
        except ApiError as error:
            if error.is_conflict:
                return False
            if error.status == _FORBIDDEN:
                raise StepFailed(
                    f"node {placement.node} cannot be locked: {error.message}; "
                    "allow the scheduler to get and patch nodes, or turn deviceshare.NodeLockEnable off"
                ) from None
            raise
        now = self._wall_clock()
        self._held = {uid: held for uid, held in self._held.items() if now - held.since <= EXPIRES_AFTER}
        self._held[placement.uid] = _HeldLock(key, value, now)
        return True

    def _is_free(self, value: str) -> bool:
        """Report whether the node can be locked: there is no lock, or it has expired or is unreadable."""
        try:
            taken = datetime.fromisoformat(value.partition(",")[0])
        except ValueError:
            return True
        taken = taken if taken.tzinfo else taken.replace(tzinfo=UTC)
        return self._wall_clock() - taken.timestamp() > EXPIRES_AFTER

    async def _write(self, node: KubeNode, key: str, value: str | None) -> None:
        version = node.metadata.resource_version
        await self._client.patch(
            NODES, node.metadata.name, {"metadata": {"resourceVersion": version, "annotations": {key: value}}}
        )


def _lock_of(node: KubeNode, key: str) -> str:
    return (node.metadata.annotations or {}).get(key, "")
