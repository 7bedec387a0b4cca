"""Removes the nodes of a dead shard from its record, so that other shards may use them.

Only the holder of a shard's lease writes its record, so the lease is taken for a short time. Its scheduler has lost it
by then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.election.elector import LeaderElector
from stromboli.kube.objects import timestamps
from stromboli.kube.objects.catalogue import NODE_SHARDS
from stromboli.kube.objects.cluster import Lease
from stromboli.scheduler.sharding.liveness import RECLAIMER_PREFIX, cleared, lease_of
from stromboli.scheduler.sharding.settings import ShardSettings

log = logging.getLogger("stromboli.shards")


class ShardReclaimer:
    """Clears one record at a time."""

    def __init__(
        self,
        client: Client,
        settings: ShardSettings,
        *,
        is_leader: Callable[[], bool],
        clock: Callable[[], float],
    ) -> None:
        self._client = client
        self._settings = settings
        self._is_leader = is_leader
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        return self._task is not None and not self._task.done()

    def begin(self, shard: str, lease: Lease, since: float) -> None:
        """Start to clear a record; the lease is unchanged `since` then by the local clock."""
        self._task = asyncio.create_task(self._clear(shard, lease, since))

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _clear(self, shard: str, lease: Lease, since: float) -> None:
        elector = self._elector(shard)
        elector.observe_lease(lease, since)
        try:
            async with asyncio.timeout(3 * self._settings.lease_duration):
                await elector.acquire()
            found = await self._client.get(NODE_SHARDS, shard)
            if elector.is_leading and self._is_leader():
                version = {"resourceVersion": found.metadata.resource_version}
                body = {"metadata": version, "status": {**cleared(found), "lastUpdateTime": timestamps.now()}}
                await self._client.patch(NODE_SHARDS, shard, body, subresource="status")
                log.warning("shard without a scheduler; its nodes are released", extra={"shard": shard})
        except (RequestFailed, TimeoutError) as error:
            facts = {"shard": shard, "error": str(error) or "its lease is held"}
            log.warning("nodes of a dead shard not released; retrying", extra=facts)
        finally:
            await elector.release()

    def _elector(self, shard: str) -> LeaderElector:
        settings = self._settings
        return LeaderElector(
            self._client, name=lease_of(shard), namespace=settings.namespace,
            identity=RECLAIMER_PREFIX + settings.identity,
            lease_duration=settings.lease_duration, renew_deadline=settings.renew_deadline,
            retry_period=settings.retry_period, clock=self._clock,
        )  # fmt: skip
