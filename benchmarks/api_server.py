"""A scheduler against a real API server with its store, beside the rate at which the server itself can bind.

Three rates on the same nodes and equal pods, in turn and several times, each from the first bound pod to the last:
bindings that a client posts directly, kube-scheduler, and Stromboli with the pods in gangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

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
#: How long a scheduler runs on after the last binding: it writes its statuses and events then.
_QUIET = 3.0
RAW, KUBE_SCHEDULER, STROMBOLI = "raw", "kube_scheduler", "stromboli"
#: The `schedulerName` of pods, by contender.
_NAMES = {RAW: "none", KUBE_SCHEDULER: "default-scheduler", STROMBOLI: "stromboli"}


@dataclass(frozen=True, slots=True)
class Run:
    """One contender in one run: its rate, and its processor time until the last binding and afterwards."""

    pods_per_second: float
    #: The time of all processes, with the server and its store, from the first binding to the last.
    processor_seconds_of_all: float
    processor_seconds: float
    processor_seconds_after: float
    peak_mebibytes: float


def e2e(parameters: Parameters, runs: int) -> list[Result]:
    """The three rates; `placements_per_second` is the median of Stromboli's."""
    with real_plane(assets()) as plane:
        return [asyncio.run(_measure(plane, parameters, runs))]


async def _measure(plane: ControlPlane, parameters: Parameters, runs: int) -> Result:
    pods = parameters["pods"]
    measured: dict[str, list[Run]] = {name: [] for name in _NAMES}
    compile_modules(plane)
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
        nodes = await prepare(client, parameters["nodes"])
        for number in range(runs):
            for name, made in measured.items():
                made.append(await _contend(plane, client, name, number, pods, nodes))
                print(f"run {number + 1}: {name}: {made[-1].pods_per_second:,.0f} pods/s", file=sys.stderr, flush=True)
    ours = statistics.median(each.pods_per_second for each in measured[STROMBOLI])
    result = Result("e2e", parameters, pods / ours, pods, ours, {"bound": pods / ours})
    result.runs = [pods / each.pods_per_second for each in measured[STROMBOLI]]
    result.more = summary(measured, pods)
    return finished(result)


def summary(measured: dict[str, list[Run]], pods: int) -> dict[str, Any]:
    """Median and spread of every contender, and the median of the ratios within one run."""
    more: dict[str, Any] = {name: _spread(made, pods) for name, made in measured.items()}
    for key, other in (("part_of_raw", RAW), ("times_kube_scheduler", KUBE_SCHEDULER)):
        pairs = list(zip(measured[STROMBOLI], measured[other], strict=True))
        ratios = [ours.pods_per_second / theirs.pods_per_second for ours, theirs in pairs]
        more[key] = statistics.median(ratios)
        more[f"{key}_spread"] = [min(ratios), max(ratios)]
        more[f"{key}_by_processor_time"] = statistics.median(
            theirs.processor_seconds_of_all / ours.processor_seconds_of_all for ours, theirs in pairs
        )
    return more


def _spread(made: list[Run], pods: int) -> dict[str, Any]:
    rates = [each.pods_per_second for each in made]
    total = statistics.median(each.processor_seconds_after for each in made)
    of_all = statistics.median(each.processor_seconds_of_all for each in made)
    return {
        "median": statistics.median(rates),
        "min": min(rates),
        "max": max(rates),
        "processor_seconds": statistics.median(each.processor_seconds for each in made),
        "processor_seconds_after": total,
        "processor_milliseconds_per_pod": 1000 * total / pods,
        "processor_milliseconds_of_all_per_pod": 1000 * of_all / pods,
        "runs": [asdict(each) for each in made],
    }


async def _contend(plane: ControlPlane, client: Client, name: str, number: int, pods: int, nodes: list[str]) -> Run:
    namespace = f"{name.replace('_', '-')}-{number}"
    await _submit(client, namespace, _NAMES[name], pods)
    try:
        if name == RAW:
            return await _raw(client, namespace, pods, nodes)
        return await _scheduled(plane, client, namespace, name, pods)
    finally:
        await remove(client, namespace)


async def prepare(client: Client, nodes: int) -> list[str]:
    await install_crds(client)
    for queue in standard_queues():
        await client.create(QUEUES, {"metadata": {"name": queue.key}, "spec": {"weight": 1}})
    return await ready_nodes(client, NodePool(nodes, resources={"cpu": "64", "memory": "256Gi", "pods": "110"}))


async def ready_nodes(client: Client, pool: NodePool) -> list[str]:
    """Create the nodes, ready and without taints, and return their names."""
    documents = node_documents(pool)
    for document in documents:
        document["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    await create_nodes(client, documents)
    names = [document["metadata"]["name"] for document in documents]
    await at_once(client.patch(NODES, name, {"spec": {"taints": None}}) for name in names)
    return names


async def _raw(client: Client, namespace: str, pods: int, nodes: list[str]) -> Run:
    """Bindings only, with as many concurrent requests as a scheduler has."""
    created = (await client.list(PODS, namespace=namespace)).items
    async with watched(client, namespace) as times:
        began, counting = time.process_time(), asyncio.ensure_future(until_all(times, pods))
        await at_once(
            client.bind(namespace, pod.metadata.name, pod.metadata.uid, nodes[number % len(nodes)])
            for number, pod in enumerate(created)
        )
        of_all = await counting
        spent = time.process_time() - began
    return Run(rate(times), of_all, spent, spent, peak(os.getpid()))


async def _scheduled(plane: ControlPlane, client: Client, namespace: str, name: str, pods: int) -> Run:
    """A scheduler binds pods that existed before it."""
    async with watched(client, namespace) as times:
        with _process(name, plane) as process:
            of_all = await until_all(times, pods)
            spent, most = processor_seconds(process.pid), peak(process.pid)
            await asyncio.sleep(_QUIET)
            return Run(rate(times), of_all, spent, processor_seconds(process.pid), most)


async def until_all(times: list[float], pods: int) -> float:
    """Wait for the last binding; return the processor time of all processes since the first."""
    first = None
    async with asyncio.timeout(LONGEST):
        while len(times) < pods:
            if first is None and times:
                first = used_by_all()
            await asyncio.sleep(0.02)
    return 0.0 if first is None else used_by_all() - first


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
def _process(name: str, plane: ControlPlane) -> Iterator[subprocess.Popen[bytes]]:
    limits = [f"--kube-api-qps={REQUESTS}", f"--kube-api-burst={REQUESTS}", f"--kubeconfig={plane.kubeconfig}"]
    commands = {
        KUBE_SCHEDULER: [str(find("kube-scheduler")), "--leader-elect=false", "--secure-port=0", *limits],
        STROMBOLI: [
            str(Path(sys.executable).parent / "stromboli"), "scheduler", "--leader-elect=false",
            "--listen-address=", "--healthz-address=", *limits,
        ],
    }  # fmt: skip
    with (
        (plane.kubeconfig.parent / f"{name}.log").open("w") as output,
        subprocess.Popen(commands[name], stdout=output, stderr=output, env=environment(plane)) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()


def compile_modules(plane: ControlPlane) -> None:
    """Start a scheduler that does not find its kubeconfig: afterwards its modules are compiled."""
    command = [str(Path(sys.executable).parent / "stromboli"), "scheduler", f"--kubeconfig={plane.kubeconfig}.absent"]
    subprocess.run(command, env=environment(plane), capture_output=True, check=False)


def environment(plane: ControlPlane) -> dict[str, str]:
    """The environment of a scheduler: its compiled modules are kept between starts, as in an installation."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(plane.kubeconfig.parent / "bytecode")}


def peak(process: int) -> float:
    """The peak memory of a process, in mebibytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def processor_seconds(process: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def used_by_all() -> float:
    """Processor time of this process and of its child processes so far."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return time.process_time() + sum(processor_seconds(int(each)) for each in children)


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
    """Delete all pods and groups: there is no garbage collector here, and each scheduler needs empty nodes."""
    options = msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
    for resource in (PODS, POD_GROUPS):
        await client.request("DELETE", resource.path(namespace=namespace), body=options, timeout=LONGEST)
    while (await client.list(PODS, namespace=namespace, limit=1)).items:
        await asyncio.sleep(0.1)
