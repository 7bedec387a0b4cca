"""Jobs with a network topology constraint: the reported reason, and the change that resolves it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from stromboli.kube.objects.catalogue import HYPER_NODES, NODES, POD_GROUPS
from testbed.plane import ControlPlane
from tests.e2e.environment.cluster import Cluster, running_cluster
from tests.testing.cases.case import configuration
from tests.testing.manifests.hypernodes import HARD_RACK, hyper_node, named
from tests.testing.world import policy_of

CONF = configuration("gang", "predicates", "network-topology-aware", actions="enqueue, allocate")


@pytest.fixture
async def cluster(plane: ControlPlane) -> AsyncIterator[Cluster]:
    async with running_cluster(plane, policy=policy_of(CONF)) as cluster:
        try:
            yield cluster
        finally:
            for entry in (await cluster.client.list(HYPER_NODES)).items:
                with contextlib.suppress(Exception):
                    await cluster.client.delete(HYPER_NODES, entry.metadata.name)


def rack(name: str, *nodes: str) -> dict[str, Any]:
    made = hyper_node(name, 1, *named(*nodes))
    return {"metadata": {"name": name}, "spec": made["spec"]}


async def test_job_reports_that_no_rack_fits_until_one_does(cluster: Cluster) -> None:
    first, second, third = sorted(node.metadata.name for node in (await cluster.client.list(NODES)).items)
    await cluster.client.create(HYPER_NODES, rack("test-rack-0", first))
    await cluster.client.create(HYPER_NODES, rack("test-rack-1", second))
    spec = {"minMember": 2, "networkTopology": HARD_RACK}
    await cluster.client.create(POD_GROUPS, {"metadata": {"name": "close"}, "spec": spec}, namespace=cluster.namespace)
    for place in range(2):
        await cluster.create_pod(f"close-{place}", "3", group="close")
    message = "no domain fits the 2 pods it needs: the 2 domains of tier 1 hold 1 of them at most"
    await cluster.until_message("close", message)
    wider = rack("test-rack-1", second, third)
    await cluster.client.patch(HYPER_NODES, "test-rack-1", {"spec": wider["spec"]})
    await cluster.until_phase("close", "Running")
    assert sorted(await cluster.nodes_of("close")) == [second, third]
