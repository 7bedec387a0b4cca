"""A scheduler against a real API server with its store, beside the rate at which the server itself can bind.

Three rates on the same nodes and equal pods, one after the other, each from the first bound pod to the last: bindings
that a client posts directly, kube-scheduler, and Stromboli with the pods in gangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from benchmarks.local_cluster import GANG, Parameters, at_once, group_document, pod_document
from benchmarks.measurement import Result, finished
from stromboli.cluster.standard_queues import standard_queues
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import NAMESPACES, NODES, POD_GROUPS, PODS, QUEUES
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool, create_nodes, node_documents
from testbed.assets import assets, find
from testbed.plane import ControlPlane
from testbed.real import real_plane

#: The request rate limit of a scheduler; more than the server can answer.
REQUESTS = 5000
#: The timeout of a scheduler for all pods, in seconds.
LONGEST = 300.0
_QUIET = 3.0


def e2e(parameters: Parameters, runs: int) -> list[Result]:
    """The three rates; `placements_per_second` is Stromboli's."""
    with real_plane(assets()) as plane:
        return [asyncio.run(_measure(plane, parameters))]


async def _measure(plane: ControlPlane, parameters: Parameters) -> Result:
    nodes, pods = parameters["nodes"], parameters["pods"]
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
        names = await prepare(client, nodes)
        raw = await _raw(client, pods, names)
        theirs, their_peak = await _scheduled(plane, client, "default-scheduler", pods)
        ours, our_peak = await _scheduled(plane, client, "stromboli", pods)
    result = Result("e2e", parameters, pods / ours, pods, ours, {"bound": pods / ours})
    result.more = {
        "raw_binds_per_second": raw,
        "kube_scheduler_pods_per_second": theirs,
        "stromboli_pods_per_second": ours,
        "part_of_raw": ours / raw,
        "times_kube_scheduler": ours / theirs,
        "stromboli_peak_mebibytes": our_peak,
        "kube_scheduler_peak_mebibytes": their_peak,
    }
    return finished(result)


async def prepare(client: Client, nodes: int) -> list[str]:
    await install_crds(client)
    for queue in standard_queues():
        await client.create(QUEUES, {"metadata": {"name": queue.key}, "spec": {"weight": 1}})
    documents = node_documents(NodePool(nodes, resources={"cpu": "64", "memory": "256Gi", "pods": "110"}))
    for document in documents:
        document["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    await create_nodes(client, documents)
    names = [document["metadata"]["name"] for document in documents]
    await at_once(client.patch(NODES, name, {"spec": {"taints": None}}) for name in names)
    return names


async def _raw(client: Client, pods: int, nodes: list[str]) -> float:
    """Bindings only, with as many concurrent requests as a scheduler has."""
    await _submit(client, "raw", "none", pods)
    created = (await client.list(PODS, namespace="raw")).items
    async with watched(client, "raw") as times:
        await at_once(
            client.bind("raw", pod.metadata.name, pod.metadata.uid, nodes[number % len(nodes)])
            for number, pod in enumerate(created)
        )
        await until_all(times, pods)
    await remove(client, "raw")
    return rate(times)


async def _scheduled(plane: ControlPlane, client: Client, scheduler: str, pods: int) -> tuple[float, float]:
    """The rate at which a scheduler binds pods that existed before it, and its peak memory."""
    await _submit(client, scheduler, scheduler, pods)
    async with watched(client, scheduler) as times:
        with _process(scheduler, plane) as process:
            await until_all(times, pods)
            most = peak(process.pid)
            await asyncio.sleep(_QUIET)
    await remove(client, scheduler)
    return rate(times), most


async def until_all(times: list[float], pods: int) -> None:
    async with asyncio.timeout(LONGEST):
        while len(times) < pods:
            await asyncio.sleep(0.05)


def rate(times: list[float]) -> float:
    return (len(times) - 1) / (times[-1] - times[0])


@contextlib.asynccontextmanager
async def watched(client: Client, namespace: str) -> AsyncIterator[list[float]]:
    """When each pod of a namespace got its node, by the server's watch. Nothing is decoded: the schedulers need the
    cores."""
    times: list[float] = []
    path = f"/api/v1/namespaces/{namespace}/pods"

    async def watch() -> None:
        params = {"watch": "true", "fieldSelector": "spec.nodeName!=", "resourceVersion": "0"}
        async with client.stream(path, params, idle_seconds=600.0) as lines:
            async for line in lines:
                times.extend([time.perf_counter()] * line.startswith(b'{"type":"ADDED"'))

    watching = asyncio.ensure_future(watch())
    try:
        yield times
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


@contextlib.contextmanager
def _process(scheduler: str, plane: ControlPlane) -> Iterator[subprocess.Popen[bytes]]:
    limits = [f"--kube-api-qps={REQUESTS}", f"--kube-api-burst={REQUESTS}", f"--kubeconfig={plane.kubeconfig}"]
    commands = {
        "default-scheduler": [str(find("kube-scheduler")), "--leader-elect=false", "--secure-port=0", *limits],
        "stromboli": [
            str(Path(sys.executable).parent / "stromboli"), "scheduler", "--leader-elect=false",
            "--listen-address=", "--healthz-address=", *limits,
        ],
    }  # fmt: skip
    with (
        _log(plane, scheduler).open("w") as output,
        subprocess.Popen(commands[scheduler], stdout=output, stderr=output) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()


def _log(plane: ControlPlane, scheduler: str) -> Path:
    return plane.kubeconfig.parent / f"{scheduler}.log"


def peak(process: int) -> float:
    """The peak memory of a process, in mebibytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


async def _submit(client: Client, namespace: str, scheduler: str, pods: int) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    if scheduler == "stromboli":
        await at_once(
            client.create(POD_GROUPS, group_document(number), namespace=namespace) for number in range(pods // GANG)
        )
    await at_once(
        client.create(PODS, pod_document(number, scheduler=scheduler), namespace=namespace) for number in range(pods)
    )


async def remove(client: Client, namespace: str) -> None:
    """Delete all pods: there is no garbage collector here, and each scheduler needs empty nodes."""
    names = [pod.metadata.name for pod in (await client.list(PODS, namespace=namespace)).items]
    await at_once(client.delete(PODS, name, namespace=namespace, grace_period=0) for name in names)
