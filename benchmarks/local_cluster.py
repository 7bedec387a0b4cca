"""Workloads over HTTP: a whole cluster in one process, the start of a scheduler, and the throughput of a watch."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from benchmarks import clusters
from benchmarks.measurement import Result, finished
from stromboli.cli import tune_garbage_collection
from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.objects.catalogue import NODES, POD_GROUPS, PODS
from stromboli.kube.watch.reflector import Reflector
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool, create_nodes, node_documents
from stromboli.local.up.local_cluster import LocalCluster, local_cluster
from stromboli.registry import built_in_registry
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.policy import ActivePolicy
from testbed.embedded import embedded_plane

Parameters = dict[str, int]

GANG = 10
#: Concurrent requests of a client.
AT_ONCE = 32
_PAUSE = 0.05


def embedded(parameters: Parameters, runs: int) -> list[Result]:
    """Gangs are submitted, bound and started, all over HTTP in this process."""
    return [min((asyncio.run(_embedded(parameters)) for _ in range(min(runs, 2))), key=lambda result: result.seconds)]


async def _embedded(parameters: Parameters) -> Result:
    tune_garbage_collection()
    nodes, pods = parameters["nodes"], parameters["pods"]
    async with _cluster_of(nodes) as running:
        gc.collect()
        gc.freeze()
        began = time.perf_counter()
        submitting = asyncio.ensure_future(_submit(running.client, pods))
        await _until(lambda: _bound(running) == pods)
        bound = time.perf_counter() - began
        await submitting
        await _until(lambda: _started(running) == pods)
        started = time.perf_counter() - began
        gc.unfreeze()
    phases = {"bound": bound, "started": started}
    result = Result("embedded", parameters, bound, pods, pods / bound, phases)
    result.more = {"cycles": running.scheduler.cycles.number, "started_per_second": pods / started}
    return finished(result)


@asynccontextmanager
async def _cluster_of(nodes: int) -> AsyncIterator[LocalCluster]:
    pool = NodePool(nodes, resources={"cpu": "64", "memory": "256Gi", "pods": "110"})
    async with local_cluster(ActivePolicy(built_in_registry()), pools=[pool]) as running:
        await _until(lambda: len(running.scheduler.cluster.nodes.entries) == nodes)
        yield running


def _bound(running: LocalCluster) -> int:
    return sum(1 for pod in running.scheduler.cluster.pods.all() if pod.spec.node_name)


def _started(running: LocalCluster) -> int:
    return sum(1 for pod in running.scheduler.cluster.pods.all() if pod.status.phase == "Running")


async def _until(reached: Callable[[], bool]) -> None:
    while not reached():
        await asyncio.sleep(_PAUSE)


async def _submit(client: Client, pods: int, node_of: Callable[[int], str] = lambda number: "") -> None:
    numbers = range(pods // GANG)
    await at_once(client.create(POD_GROUPS, group_document(number), namespace="default") for number in numbers)
    await at_once(
        client.create(PODS, pod_document(number, node_of(number)), namespace="default") for number in range(pods)
    )


async def at_once(requests: Iterable[Awaitable[Any]]) -> None:
    """Make all requests, with limited concurrency."""
    left = iter(requests)

    async def work() -> None:
        for request in left:
            await request

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


def group_document(number: int) -> dict[str, Any]:
    return {"metadata": {"name": f"gang-{number:06}"}, "spec": {"minMember": GANG, "queue": "default"}}


def pod_document(number: int, node: str = "", *, scheduler: str = "stromboli") -> dict[str, Any]:
    gang = f"gang-{number // GANG:06}"
    request = {"cpu": f"{1 + number // GANG % 4}", "memory": "2Gi"}
    spec: dict[str, Any] = {
        "schedulerName": scheduler,
        "containers": [{"name": "main", "image": "example/worker", "resources": {"requests": request}}],
    }
    if node:
        spec["nodeName"] = node
    metadata = {"name": f"{gang}-{number % GANG}", "annotations": {"scheduling.k8s.io/group-name": gang}}
    return {"metadata": metadata, "spec": spec}


def idle(parameters: Parameters, runs: int) -> list[Result]:
    """The cost of an idle cluster."""
    return [asyncio.run(_idle(parameters))]


async def _idle(parameters: Parameters) -> Result:
    tune_garbage_collection()
    seconds = 20.0
    async with _cluster_of(parameters["nodes"]) as running:
        await _submit(running.client, 100)
        await _until(lambda: _started(running) == 100)
        await asyncio.sleep(3.0)
        began, spent = time.perf_counter(), time.process_time()
        await asyncio.sleep(seconds)
        took, used = time.perf_counter() - began, time.process_time() - spent
    result = Result("idle", parameters, took, 0, 0.0, {"cpu": used})
    result.more = {"part_of_a_core": used / took}
    return finished(result)


def start(parameters: Parameters, runs: int) -> list[Result]:
    """A scheduler starts in a cluster that is full of running pods; the server is another process."""
    return [asyncio.run(_start(parameters))]


async def _start(parameters: Parameters) -> Result:
    nodes, pods = parameters["nodes"], parameters["pods"]
    with embedded_plane() as plane:
        connection = load_kubeconfig(str(plane.kubeconfig))
        async with Client(connection) as client:
            await fill_cluster(client, nodes, pods)
            await client.create(POD_GROUPS, group_document(pods // GANG), namespace="default")
            for place in range(GANG):
                await client.create(PODS, pod_document(pods + place), namespace="default")
        return await _first_decision(connection, parameters)


async def fill_cluster(client: Client, nodes: int, pods: int) -> None:
    """Create nodes, and gangs of pods that run on them."""
    pool = NodePool(nodes, resources={"cpu": "64", "memory": "256Gi", "pods": "110"})
    await create_nodes(client, node_documents(pool))
    names = [document["metadata"]["name"] for document in node_documents(pool)]
    await at_once(client.patch(NODES, name, {"spec": {"taints": None}}) for name in names)
    await _submit(client, pods, lambda number: names[number % nodes])


async def _first_decision(connection: Any, parameters: Parameters) -> Result:
    tune_garbage_collection()
    gc.collect()
    async with Client(connection) as client:
        began = time.perf_counter()
        scheduler = Scheduler(client, ActivePolicy(built_in_registry()), SchedulerOptions())
        decided: list[float] = []
        scheduler.observers.append(lambda result: decided.append(time.perf_counter()) if result.binds else None)
        task = asyncio.ensure_future(scheduler.run())
        await _until(lambda: bool(decided))
        scheduler.stop()
        await task
    result = Result("start", parameters, decided[0] - began, GANG, GANG / (decided[0] - began), {})
    return finished(result)


def ingest(parameters: Parameters, runs: int) -> list[Result]:
    """A watch is ingested by the cache on one core, with the sender in another process; CPU time counts."""
    return [min((asyncio.run(_ingest(parameters)) for _ in range(min(runs, 3))), key=lambda result: result.seconds)]


async def _ingest(parameters: Parameters) -> Result:
    tune_garbage_collection()
    number = parameters["events"]
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.watch_server", str(number)], stdout=subprocess.PIPE, text=True
    ) as sender:
        assert sender.stdout is not None
        server, size = sender.stdout.readline().split()
        try:
            async with Client(Connection(server, None)) as client:
                spent, took = await _read_events(client, number)
        finally:
            sender.terminate()
    result = Result("ingest", parameters, spent, 0, 0.0, {"cpu": spent, "wall": took})
    result.more = {"events_per_second": number / spent, "bytes_per_event": int(size)}
    return finished(result)


async def _read_events(client: Client, number: int) -> tuple[float, float]:
    """CPU and wall seconds from the first to the last event, with regular updates of the cluster state."""
    cluster = Cluster()
    for place in range(1000):
        cluster.apply(clusters.plain_node(place, 64))
    reflector = Reflector(client, PODS, Ingest(cluster))
    reading = asyncio.ensure_future(reflector.run())
    await _until(lambda: reflector.events > 0)
    done, began, spent = reflector.events, time.perf_counter(), time.process_time()
    while reflector.events < number:
        await asyncio.sleep(0.1)
        cluster.cluster_state()
    cluster.cluster_state()
    used, took = time.process_time() - spent, time.perf_counter() - began
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    part = (number - done) / number
    return used / part, took / part
