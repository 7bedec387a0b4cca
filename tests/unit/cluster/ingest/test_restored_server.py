"""A server restored to an older state: the cache follows, although all versions are lower."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.watch.reflector import Reflector
from stromboli.kube.work.retry import RetryPolicy
from tests.testing.kube.http_server import LittleServer
from tests.testing.kube.waiting import running, until

OURS = {"schedulerName": "stromboli"}


@asynccontextmanager
async def watched(server: LittleServer) -> AsyncIterator[Ingest]:
    ingest = Ingest(Cluster())
    async with server, Client(server.connection, timeout=30) as client:
        reflector = Reflector(
            client, PODS, ingest, retry=RetryPolicy(min_delay=0.001, max_delay=0.01), stale_list_seconds=0.05
        )
        async with running(reflector.run()):
            await until(reflector.synced.is_set)
            yield ingest


def nodes_of(ingest: Ingest) -> dict[str, str]:
    return {pod.metadata.name: pod.spec.node_name or "" for pod in ingest.cluster.pods.all()}


@pytest.mark.parametrize("streams_lists", [True, False], ids=["streamed list", "paged list"])
async def test_restored_server_overrides_newer_versions(streams_lists: bool) -> None:
    """Since the backup one pod was bound, one deleted, and one created."""
    server = LittleServer(streams_lists)
    for name in ("bound", "deleted"):
        server.put(name, spec=OURS)
    async with watched(server) as ingest:
        server.put("bound", spec={**OURS, "nodeName": "n1"})
        server.delete("deleted")
        server.put("made", spec=OURS)
        await until(lambda: nodes_of(ingest) == {"bound": "n1", "made": ""}, lambda: nodes_of(ingest))
        server.delete("made")
        server.history.clear()
        server.version = 0
        for name in ("bound", "deleted"):
            server.put(name, spec=OURS)
        server.oldest = 10**9
        server.drop_watches()
        await until(lambda: nodes_of(ingest) == {"bound": "", "deleted": ""}, lambda: nodes_of(ingest))
        assert audit(ingest.cluster) == []
