"""Lifecycle of pods on simulated nodes, over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio

from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import NODES, PODS
from stromboli.kube.objects.pod import Pod
from stromboli.kube.watch.informer import Informer
from stromboli.local.api_server.faults import CutWatch, LoseAnswer, Match
from stromboli.local.api_server.server import ApiServer
from stromboli.local.fakes.kubelet.kubelets import Kubelets
from stromboli.local.fakes.kubelet.node_health import NOT_READY
from stromboli.local.fakes.kubelet.node_lifecycle import NodeLifecycle
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool, create_nodes, node_documents
from tests.unit.local.fakes.running import running, until

NODE = "node-00"


@pytest_asyncio.fixture
async def kubelets(client: Client) -> AsyncIterator[Kubelets]:
    await create_nodes(client, node_documents(NodePool(2, resources={"cpu": "2", "memory": "4Gi"})))
    nodes, pods = Informer(client, NODES), Informer(client, PODS)
    kubelets, life = Kubelets(client, nodes, pods), NodeLifecycle(client, nodes, pods, eviction_delay=0.05)
    async with running(nodes, pods, kubelets, life):
        yield kubelets


async def bound(client: Client, name: str, node: str = NODE, cpu: str = "1", **annotations: str) -> Pod:
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    metadata = {
        "name": name,
        "annotations": {f"stromboli.dev/{key.replace('_', '-')}": value for key, value in annotations.items()},
    }
    body = {"metadata": metadata, "spec": {"containers": [container]}}
    pod = await client.create(PODS, body, namespace="default")
    await client.bind("default", name, pod.metadata.uid, node)
    return pod


def is_in(client: Client, name: str, phase: str) -> Callable[[], Awaitable[Pod | None]]:
    async def look() -> Pod | None:
        pod = await client.get(PODS, name, namespace="default")
        return pod if pod.status.phase == phase else None

    return look


def none_left(client: Client) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return not (await client.list(PODS)).items

    return look


@pytest.mark.usefixtures("kubelets")
async def test_bound_pod_runs_until_deleted(client: Client) -> None:
    await bound(client, "a")
    pod = await until(is_in(client, "a", "Running"))
    assert pod.status.pod_ip
    assert {entry.type for entry in pod.status.conditions if entry.status == "True"} >= {"Ready", "PodScheduled"}
    await client.delete(PODS, "a", namespace="default")
    await until(none_left(client))


@pytest.mark.usefixtures("kubelets")
async def test_pods_finish_by_annotation(client: Client) -> None:
    await bound(client, "well", run_seconds="0.02")
    await bound(client, "badly", run_seconds="0.02", start_seconds="0.02", exit_code="3")
    await until(is_in(client, "well", "Succeeded"))
    await until(is_in(client, "badly", "Failed"))


async def test_pod_that_does_not_fit_is_rejected(client: Client, kubelets: Kubelets) -> None:
    await bound(client, "first", cpu="1500m")
    await until(is_in(client, "first", "Running"))
    await bound(client, "second")
    refused = await until(is_in(client, "second", "Failed"))
    assert refused.status.reason == "OutOfcpu"
    assert (kubelets.started, kubelets.rejected) == (1, 1)
    await client.delete(PODS, "first", namespace="default")
    await client.delete(PODS, "second", namespace="default")
    await until(none_left(client))
    await bound(client, "third", cpu="2")
    await until(is_in(client, "third", "Running"))


@pytest.mark.usefixtures("kubelets")
async def test_only_simulated_nodes_have_simulated_kubelets(client: Client) -> None:
    await client.create(NODES, {"metadata": {"name": "real"}, "status": {"allocatable": {"cpu": "8", "pods": "9"}}})
    await bound(client, "theirs", "real")
    await bound(client, "ours")
    await until(is_in(client, "ours", "Running"))
    assert await is_in(client, "theirs", "Pending")()


@pytest.mark.usefixtures("kubelets")
async def test_pods_have_distinct_addresses(client: Client) -> None:
    await asyncio.gather(*(bound(client, f"pod-{number}", cpu="10m") for number in range(100)))
    await until(lambda: all_running(client, 100))
    addresses = {pod.status.pod_ip for pod in (await client.list(PODS)).items}
    assert len(addresses) == 100


async def all_running(client: Client, count: int) -> bool:
    pods = (await client.list(PODS)).items
    return sum(pod.status.phase == "Running" for pod in pods) == count


@pytest.mark.usefixtures("kubelets")
async def test_lost_responses_and_cut_watches_are_survived(server: ApiServer, client: Client) -> None:
    lost = server.faults.add(Match(method="PATCH", plural="pods", subresource="status"), LoseAnswer())
    cut = server.faults.add(Match(verb="watch", plural="pods"), CutWatch())
    server.drop_watches()
    await bound(client, "a")
    await bound(client, "b")
    await until(is_in(client, "a", "Running"))
    await until(is_in(client, "b", "Running"))
    assert (lost.fired, cut.fired) == (1, 1)


@pytest.mark.usefixtures("kubelets")
async def test_not_ready_node_loses_its_pods(client: Client) -> None:
    await bound(client, "a")
    await bound(client, "elsewhere", "node-01")
    await until(is_in(client, "elsewhere", "Running"))
    await client.patch(NODES, NODE, {"metadata": {"annotations": {"stromboli.dev/ready": "false"}}})

    async def names() -> list[str]:
        return [pod.metadata.name for pod in (await client.list(PODS)).items]

    await until(lambda: equal(names, ["elsewhere"]))
    node = await until(lambda: ready_is(client, "False"))
    assert {(taint.key, taint.effect) for taint in node.spec.taints} == {
        (NOT_READY, "NoSchedule"),
        (NOT_READY, "NoExecute"),
    }
    await client.patch(NODES, NODE, {"metadata": {"annotations": {"stromboli.dev/ready": None}}})
    node = await until(lambda: ready_is(client, "True"))
    await until(lambda: untainted(client))


async def equal(question: Callable[[], Awaitable[Any]], expected: object) -> bool:
    return bool(await question() == expected)


async def ready_is(client: Client, status: str) -> Any:
    node = await client.get(NODES, NODE)
    return any(entry.type == "Ready" and entry.status == status for entry in node.status.conditions or ()) and node


async def untainted(client: Client) -> bool:
    return not (await client.get(NODES, NODE)).spec.taints


@pytest.mark.usefixtures("kubelets")
async def test_cordoned_node_is_tainted(client: Client) -> None:
    await client.patch(NODES, NODE, {"spec": {"unschedulable": True}})

    async def tainted() -> bool:
        taints = (await client.get(NODES, NODE)).spec.taints or []
        return [taint.key for taint in taints] == ["node.kubernetes.io/unschedulable"]

    await until(tainted)


@pytest.mark.usefixtures("kubelets")
async def test_pods_of_deleted_node_are_removed(client: Client) -> None:
    await bound(client, "a", stop_seconds="1000")
    await until(is_in(client, "a", "Running"))
    await client.delete(NODES, NODE)
    await until(none_left(client))


@pytest.mark.usefixtures("kubelets")
async def test_unresponsive_node_keeps_pods_terminating(client: Client) -> None:
    await bound(client, "a")
    await until(is_in(client, "a", "Running"))
    await client.patch(NODES, NODE, {"metadata": {"annotations": {"stromboli.dev/ready": "unknown"}}})

    async def terminating() -> bool:
        pod = await client.get(PODS, "a", namespace="default")
        return pod.metadata.deletion_timestamp is not None

    await until(lambda: ready_is(client, "Unknown"))
    await until(terminating)
    await bound(client, "b", "node-01")
    await until(is_in(client, "b", "Running"))
    assert await terminating()
    await client.patch(NODES, NODE, {"metadata": {"annotations": {"stromboli.dev/ready": None}}})
    await client.delete(PODS, "b", namespace="default")
    await until(none_left(client))
