"""Statuses while pods are being bound: which are written, and how many at a time."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import QUEUES
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.volcano import KubeQueue
from stromboli.kube.work.status_writer import MAX_YIELD, MIN_YIELD, DesiredStatus, StatusWriter
from tests.testing.virtual_time import run_virtually

#: The time that a write takes, in seconds.
SLOW = 1.0
NAMES = [f"queue-{number:02}" for number in range(100)]


class _SlowServer:
    def __init__(self) -> None:
        self.written: list[str] = []

    async def patch(self, resource: Any, name: str, patch: Any, **facts: Any) -> KubeQueue:
        await asyncio.sleep(SLOW)
        self.written.append(name)
        return KubeQueue(metadata=ObjectMeta(name, "", name, resource_version="2"))


async def _written_after(*moments: float) -> list[list[str]]:
    """The names that are written at each of these moments, while binds wait; the last queue is urgent."""
    server, store = _SlowServer(), Ingest(Cluster())
    loop = asyncio.get_running_loop()
    writer = StatusWriter(cast(Client, server), store, lambda: True, workers=8, yields=lambda: True, clock=loop.time)
    for name in NAMES:
        store.apply(KubeQueue(metadata=ObjectMeta(name, "", name, resource_version="1")))
        writer.want(DesiredStatus(QUEUES, name, lambda queue: {"status": {}}, urgent=name == NAMES[-1]))
    running = asyncio.ensure_future(writer.run())
    seen: list[list[str]] = []
    for moment in moments:
        await asyncio.sleep(moment - loop.time())
        seen.append(server.written[:])
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return seen


def test_statuses_yield_to_binds_for_a_limited_time() -> None:
    early, beside, late = run_virtually(_written_after(MIN_YIELD - 1, MAX_YIELD, MAX_YIELD + 15 * SLOW))
    assert early == NAMES[-1:], "only the urgent one"
    assert 15 <= len(beside) <= 1 + MAX_YIELD - MIN_YIELD, "one at a time"
    assert beside[1:] == NAMES[: len(beside) - 1], "the oldest first"
    assert sorted(late) == NAMES, "eight at a time"
