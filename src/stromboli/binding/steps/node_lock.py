"""A node is locked while its device plugin hands out the devices of one pod.

The kubelet asks a device plugin for devices without saying for which pod, so the plugin takes the pod that was bound
last. Two at a time would be mixed up. The lock is an annotation of the node with the time at which it was taken: set
here before the binding, removed by the device plugin when it is done, and void after five minutes in case it never is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from stromboli.binding.orders import BindOrder
from stromboli.binding.steps.step import StepFailed
from stromboli.core.model.devices.shared_devices import NODE_LOCK
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import NODES
from stromboli.kube.objects.cluster import KubeNode

#: Seconds after which a lock that nobody removed is void, as device plugins see it.
VOID_AFTER = 300.0
#: Seconds for which a lock of somebody else is waited for, and between two looks at it.
MAX_WAIT = 30.0
_PAUSE = 0.25
_FORBIDDEN = 403


class _HeldLock(NamedTuple):
    key: str
    value: str
    since: float


class NodeLock:
    """A step of binds that ask for it; others pass."""

    name = "the lock of the node"

    def __init__(
        self, client: Client, *, max_wait: float = MAX_WAIT, wall_clock: Callable[[], float] = time.time
    ) -> None:
        self._client = client
        self._max_wait = max_wait
        self._wall_clock = wall_clock
        #: By the uid of the pod, the locks that were taken here and may have to be given back.
        self._held: dict[str, _HeldLock] = {}

    async def prepare(self, order: BindOrder) -> None:
        key = order.annotations.get(NODE_LOCK)
        if not key:
            return
        self._held.pop(order.uid, None)
        deadline = time.monotonic() + self._max_wait
        while not await self._take(order, key):
            if time.monotonic() >= deadline:
                raise StepFailed(
                    f"node {order.node} has been locked for {self._max_wait:g} s (annotation {key}): "
                    "its device plugin is busy with another pod, or does not answer"
                )
            await asyncio.sleep(_PAUSE)

    async def undo(self, order: BindOrder) -> None:
        """Unlock the node, unless somebody else has locked it since."""
        held = self._held.pop(order.uid, None)
        if held is None:
            return
        try:
            node = await self._client.get(NODES, order.node)
            if _lock_of(node, held.key) == held.value:
                await self._write(node, held.key, None)
        except ApiError as error:
            if not error.is_missing:
                raise

    async def _take(self, order: BindOrder, key: str) -> bool:
        """Lock the node, if it is not locked; two who try at the same time do not both succeed."""
        try:
            node = await self._client.get(NODES, order.node)
            if not self._is_void(_lock_of(node, key)):
                return False
            value = datetime.fromtimestamp(self._wall_clock(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            await self._write(node, key, value)
        except ApiError as error:
            if error.is_conflict:
                return False
            if error.status == _FORBIDDEN:
                raise StepFailed(
                    f"node {order.node} cannot be locked: {error.message}; "
                    "allow the scheduler to get and patch nodes, or turn deviceshare.NodeLockEnable off"
                ) from None
            raise
        now = self._wall_clock()
        self._held = {uid: held for uid, held in self._held.items() if now - held.since <= VOID_AFTER}
        self._held[order.uid] = _HeldLock(key, value, now)
        return True

    def _is_void(self, value: str) -> bool:
        """Whether a lock holds nobody back: there is none, it is too old, or nobody can read it."""
        try:
            taken = datetime.fromisoformat(value.partition(",")[0]) if value else None
        except ValueError:
            return True
        if taken is None:
            return True
        taken = taken if taken.tzinfo else taken.replace(tzinfo=UTC)
        return self._wall_clock() - taken.timestamp() > VOID_AFTER

    async def _write(self, node: KubeNode, key: str, value: str | None) -> None:
        version = node.metadata.resource_version
        await self._client.patch(
            NODES, node.metadata.name, {"metadata": {"resourceVersion": version, "annotations": {key: value}}}
        )


def _lock_of(node: KubeNode, key: str) -> str:
    return (node.metadata.annotations or {}).get(key, "")
