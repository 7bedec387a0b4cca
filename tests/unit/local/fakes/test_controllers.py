"""All fakes and controllers together, with and without faults."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from stromboli.controllers.wiring import Controllers
from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import NODES, POD_GROUPS, PODS
from stromboli.local.api_server.faults import Answer, CutConnection, CutWatch, ExpireWatch, LoseAnswer, Match
from stromboli.local.api_server.server import ApiServer
from stromboli.local.fakes import FakeControllers
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool, create_nodes, node_documents
from tests.unit.local.fakes.running import running, until


@pytest_asyncio.fixture
async def cluster(server: ApiServer, client: Client) -> AsyncIterator[FakeControllers]:
    await install_crds(client)
    async with Client(server.connection) as first, Client(server.connection) as second:
        fakes, controllers = FakeControllers(first, eviction_delay=0.05), Controllers(second, ["volcano"])
        async with running(fakes, controllers):
            await create_nodes(client, node_documents(NodePool(4)))
            yield fakes


async def create(client: Client, name: str, **annotations: str) -> None:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "100m"}}}
    metadata = {"name": name, "annotations": {f"stromboli.dev/{key}": value for key, value in annotations.items()}}
    body = {"metadata": metadata, "spec": {"schedulerName": "volcano", "containers": [container]}}
    await client.create(PODS, body, namespace="default")


async def names(client: Client, resource: Any) -> list[str]:
    return sorted(entry.metadata.name for entry in (await client.list(resource)).items)


async def bind(client: Client, name: str, node: str) -> None:
    pod = await client.get(PODS, name, namespace="default")
    await client.bind("default", name, pod.metadata.uid, node)


async def phases(client: Client) -> set[str | None]:
    return {pod.status.phase for pod in (await client.list(PODS)).items}


@pytest.mark.usefixtures("cluster")
async def test_pod_runs_to_end_with_its_group(client: Client) -> None:
    await create(client, "a")
    await until(lambda: names(client, POD_GROUPS))
    await bind(client, "a", "node-00")

    async def is_running() -> bool:
        return await phases(client) == {"Running"}

    await until(is_running)
    await client.delete(PODS, "a", namespace="default")

    async def all_gone() -> bool:
        return not await names(client, PODS) and not await names(client, POD_GROUPS)

    await until(all_gone)


async def test_faults_delay_but_lose_nothing(server: ApiServer, client: Client, cluster: FakeControllers) -> None:
    """Lost responses, errors, cut connections, cut and expired watches: every pod gets its group and finishes."""
    await until(lambda: nodes_are_ready(client))
    status = Match(method="PATCH", plural="pods", subresource="status")
    faults = [
        server.faults.add(status, LoseAnswer(), times=4, after=2),
        server.faults.add(status, Answer(500, "InternalError", "oh"), times=3, after=9),
        server.faults.add(Match(method="POST", plural="podgroups"), CutConnection(), times=2),
        server.faults.add(Match(verb="watch", plural="pods"), CutWatch(), times=2),
        server.faults.add(Match(verb="watch", plural="podgroups"), ExpireWatch(), times=1),
    ]
    for number in range(12):
        await create(client, f"pod-{number}", **{"run-seconds": "0.01"})
    server.drop_watches()
    await until(lambda: equal_count(client, 12), seconds=10)
    for number in range(12):
        await bind(client, f"pod-{number}", f"node-0{number % 4}")

    async def all_done() -> bool:
        try:
            return await phases(client) == {"Succeeded"}
        except RequestFailed:
            return False

    await until(all_done, seconds=10)
    assert all(fault.fired for fault in faults)
    assert cluster.kubelets.rejected == 0


async def nodes_are_ready(client: Client) -> bool:
    nodes = (await client.list(NODES)).items
    return all(any(entry.type == "Ready" for entry in node.status.conditions or ()) for node in nodes)


async def equal_count(client: Client, count: int) -> bool:
    return len(await names(client, POD_GROUPS)) == count


@pytest.mark.usefixtures("cluster")
async def test_idle_cluster_makes_no_requests(client: Client) -> None:
    """No controllers answer each other's writes indefinitely."""
    await create(client, "a")
    await bind(client, "a", "node-00")

    async def is_quiet() -> bool:
        before = (await client.list(NODES)).resource_version
        await asyncio.sleep(0.15)
        return (await client.list(NODES)).resource_version == before

    await until(is_quiet)
