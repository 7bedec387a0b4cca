"""The Python API reads a living cluster, also where an event loop runs already."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import stromboli as sb
from stromboli.planner.live.errors import ClusterError, MissingKinds
from tests.integration.live.conftest import LiveServer, policy
from tests.testing.manifests.builders import gang, node
from tests.testing.world import SIMPLE


def in_an_event_loop(kubeconfig: Path) -> sb.Cluster:
    """Read the cluster in a coroutine, as a cell of a notebook does."""

    async def cell() -> sb.Cluster:
        return sb.Cluster.from_kubeconfig(kubeconfig)

    return asyncio.run(cell())


async def test_plan_of_a_living_cluster_has_the_policy_of_its_scheduler(live: LiveServer) -> None:
    await live.apply(*policy(SIMPLE), node("n", cpu=4), *gang(2, 1, name="a"))
    cluster = await asyncio.to_thread(in_an_event_loop, live.kubeconfig)
    assert cluster.policy.to_yaml() == SIMPLE
    assert len(cluster.plan().binds) == 2
    assert cluster.plan(gang(3, 1, name="b")).waiting == ["default/b"]
    assert cluster.plan().binds == (await live.report("plan"))["binds"]


async def test_clusters_that_cannot_be_read_are_errors_with_a_remedy(bare: LiveServer) -> None:
    with pytest.raises(MissingKinds, match="install the CRDs first"):
        await asyncio.to_thread(in_an_event_loop, bare.kubeconfig)
    text = bare.kubeconfig.read_text()
    closed = bare.folder / "closed"
    closed.write_text(text.replace(bare.server.url, "http://127.0.0.1:9"))
    with pytest.raises(ClusterError, match=r"unreachable: .*; start the cluster, or name another kubeconfig"):
        await asyncio.to_thread(in_an_event_loop, closed)
