"""Nodes publish their NUMA topology while the scheduler runs, and pods are annotated with their CPUs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from stromboli.cluster.state.cluster import Cluster as SchedulerCache
from stromboli.core.model.nodes.numa import DECISION, POLICY, PROCESSORS
from stromboli.kube.objects.catalogue import NODES, NUMA_TOPOLOGIES, POD_GROUPS, PODS
from stromboli.workloads.groups import GROUP_NAME
from testbed.plane import ControlPlane
from tests.e2e.environment.cluster import Cluster, running_cluster
from tests.testing.cases.case import configuration
from tests.testing.world import policy_of

CONF = configuration("gang", "predicates", "numa-aware", actions="enqueue, allocate")
#: Two cells of two processors each.
DETAIL = {str(n): {"numa": n // 2, "socket": n // 2, "core": n} for n in range(4)}


class Machines:
    """A cluster in which one node publishes its NUMA topology."""

    def __init__(self, cluster: Cluster, node: str) -> None:
        self.cluster = cluster
        self.client = cluster.client
        self.node = node

    def spec(self, allocatable: str = "0-3", **more: Any) -> dict[str, Any]:
        policies = {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "single-numa-node"}
        return {"policies": policies, "numares": {"cpu": {"allocatable": allocatable}}, "cpuDetail": DETAIL, **more}

    async def publish(self, spec: dict[str, Any]) -> None:
        """The exporter of the node writes what it knows for the first time."""
        await self.client.create(NUMA_TOPOLOGIES, {"metadata": {"name": self.node}, "spec": spec})

    async def publish_again(self, spec: dict[str, Any]) -> None:
        await self.client.patch(NUMA_TOPOLOGIES, self.node, {"spec": spec})

    async def until_known(self, what: str, test: Callable[[SchedulerCache], bool]) -> None:
        """Wait until the scheduler has heard of it."""

        async def reached() -> bool:
            return test(self.cluster.scheduler.cluster)

        await self.cluster.until(reached, what)

    async def create_gang(self, name: str, size: int, cpu: int) -> None:
        where = {"namespace": self.cluster.namespace}
        await self.client.create(POD_GROUPS, {"metadata": {"name": name}, "spec": {"minMember": size}}, **where)
        container = {
            "name": "main",
            "image": "example/main",
            "resources": {"limits": {"cpu": str(cpu), "memory": "1Gi"}},
        }
        for place in range(size):
            annotations = {GROUP_NAME: name, POLICY: "single-numa-node"}
            metadata = {"name": f"{name}-{place}", "annotations": annotations}
            pod = {"metadata": metadata, "spec": {"schedulerName": "volcano", "containers": [container]}}
            await self.client.create(PODS, pod, **where)

    async def given(self, gang: str, key: str = PROCESSORS) -> list[Any]:
        """CPU annotations of the members of a gang."""
        pods = await self.cluster.pods()
        notes = [pod.metadata.annotations or {} for name, pod in sorted(pods.items()) if name.startswith(f"{gang}-")]
        return sorted((json.loads(each.get(key, "null")) for each in notes), key=str)


@pytest.fixture
async def machines(plane: ControlPlane) -> AsyncIterator[Machines]:
    async with running_cluster(plane, policy=policy_of(CONF)) as cluster:
        names = sorted(node.metadata.name for node in (await cluster.client.list(NODES)).items)
        try:
            yield Machines(cluster, names[-1])
        finally:
            for entry in (await cluster.client.list(NUMA_TOPOLOGIES)).items:
                with contextlib.suppress(Exception):
                    await cluster.client.delete(NUMA_TOPOLOGIES, entry.metadata.name)


async def test_gang_starts_when_a_node_publishes_its_topology(machines: Machines) -> None:
    await machines.create_gang("solver", 2, cpu=2)
    await machines.cluster.until_message("solver", "numa info is empty")
    await machines.publish(machines.spec())
    await machines.cluster.until_phase("solver", "Running")
    assert await machines.cluster.nodes_of("solver") == [machines.node] * 2
    assert await machines.given("solver") == [{"main": "0-1"}, {"main": "2-3"}]
    assert await machines.given("solver", DECISION) == [{"numa": {"0": {"cpu": "2"}}}, {"numa": {"1": {"cpu": "2"}}}]


async def test_what_the_kubelet_did_counts_more_than_what_was_meant(machines: Machines) -> None:
    await machines.publish(machines.spec())
    await machines.create_gang("first", 1, cpu=1)
    await machines.cluster.until_phase("first", "Running")
    assert await machines.given("first") == [{"main": "0"}]
    first = (await machines.cluster.pods())["first-0"]
    allocation = {"uid": first.metadata.uid, "containerAllocations": [{"name": "main", "allocations": {"cpu": "2"}}]}
    await machines.publish_again(machines.spec("0-1,3", podAllocations=[allocation]))
    await machines.until_known("what the pod has", lambda cache: cache.cpu_allocations()[machines.node].free == 0b1011)
    await machines.create_gang("large", 1, cpu=2)
    await machines.cluster.until_phase("large", "Running")
    assert await machines.given("large") == [{"main": "0-1"}]


async def test_invalid_topology_is_reported_and_corrected(machines: Machines) -> None:
    await machines.publish(machines.spec("0-99"))
    await machines.until_known("a complaint", lambda cache: bool(cache.numa.warnings()))
    await machines.create_gang("solver", 1, cpu=2)
    await machines.cluster.until_message("solver", "numa info is empty")
    await machines.publish_again(machines.spec())
    await machines.cluster.until_phase("solver", "Running")
    assert await machines.given("solver") == [{"main": "0-1"}]
