"""The situations of KAI-Scheduler's published end-to-end scale results, on an API server with simulated kubelets.

500 nodes of 8 GPUs. Where its suite creates the workloads while the scheduler is stopped, so does this one, and the
time begins with the start of the scheduler process. Beside each result are the published time and the least time that
the writes take on this server, measured with a client that does nothing else.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from benchmarks.api_server import compile_modules
from benchmarks.local_cluster import Parameters, at_once
from benchmarks.measurement import Result, finished
from benchmarks.scale_cluster import GPU, GPUS, NAMESPACE, ScaleCluster, Workload, create_gpu_nodes
from benchmarks.topology import network
from stromboli import kube
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import HYPER_NODES, NAMESPACES, NODES, POD_GROUPS, PODS, QUEUES
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.topology import KubeHyperNode
from testbed.assets import assets
from testbed.plane import ControlPlane
from testbed.real import real_plane

FULL, OWED = "full", "owed"
GANG = 10
#: Of each node, before jobs are consolidated.
_FREE = 5
_POLICY = """\
actions: "enqueue, allocate, {actions}backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
    enableReclaimable: false
  - name: conformance
- plugins:
  - name: capacity
  - name: predicates
  - name: network-topology-aware
  - name: nodeorder
  - name: binpack
"""
_CONSOLIDATION = """\
configurations:
- name: consolidate
  arguments:
    maxMovedPods: -1
"""


def _policy(action: str) -> str:
    """The policy with an action besides those that evict nothing."""
    text = _POLICY.format(actions=f"{action}, " if action else "")
    return text + _CONSOLIDATION if action == "consolidate" else text


@dataclass(frozen=True, slots=True)
class Rates:
    """Requests per second that the server answers, each alone."""

    creations: float
    bindings: float
    deletions: float

    def seconds(self, writes: Writes) -> float:
        """The least time of these writes; an eviction is one request of the scheduler and one of the kubelet."""
        evictions = writes.evictions * 2 / self.deletions
        return writes.creations / self.creations + writes.bindings / self.bindings + evictions


@dataclass(frozen=True, slots=True)
class Writes:
    """The writes without which a situation cannot end."""

    bindings: int
    creations: int = 0
    evictions: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    seconds: float
    writes: Writes


async def _fill(cluster: ScaleCluster, nodes: list[str]) -> Measured:
    """One-GPU jobs for every GPU."""
    jobs = [Workload(f"job-{number:05}", OWED) for number in range(GPUS * len(nodes))]
    return await _from_start(cluster, jobs)


async def _topology(cluster: ScaleCluster, nodes: list[str]) -> Measured:
    """A gang with a pod of two GPUs per node, which prefers racks of two nodes."""
    preference = {"mode": "soft", "highestTierAllowed": 1}
    return await _from_start(cluster, [Workload("gang", OWED, len(nodes), 2, topology=preference)])


async def _reclaim_gang(cluster: ScaleCluster, nodes: list[str]) -> Measured:
    """Every node has a job of all its GPUs; a gang of as many such pods arrives in a queue that deserves them all."""
    await _run(cluster, [Workload(f"full-{name}", FULL, gpus=GPUS, nodes=(name,)) for name in nodes])
    async with cluster.scheduler(_policy("reclaim"), wait=True):
        gang = Workload("gang", OWED, len(nodes), GPUS)
        began = time.perf_counter()
        await cluster.submit([gang])
        ended = await cluster.until_bound(_keys([gang]))
    return Measured(ended - began, Writes(len(nodes), len(nodes) + 1, cluster.evicted))


async def _reclaim_jobs(cluster: ScaleCluster, nodes: list[str]) -> Measured:
    """One-GPU jobs for every GPU, which all run one-GPU jobs of a queue that deserves none."""
    await _run(cluster, _one_gpu_jobs(nodes, GPUS))
    jobs = [Workload(f"job-{number:05}", OWED) for number in range(GPUS * len(nodes))]
    return await _from_start(cluster, jobs, action="reclaim")


async def _consolidate(cluster: ScaleCluster, nodes: list[str]) -> Measured:
    """Five GPUs of each node are free, in total enough for gangs of ten pods of six GPUs."""
    await _run(cluster, _one_gpu_jobs(nodes, GPUS - _FREE))
    gangs = len(nodes) * _FREE // (GANG * (_FREE + 1))
    made = [Workload(f"gang-{number:03}", OWED, GANG, _FREE + 1) for number in range(gangs)]
    return await _from_start(cluster, made, action="consolidate")


async def _unschedulable(cluster: ScaleCluster, nodes: list[str]) -> Measured:
    """A gang of ten whole nodes, one GPU more than its queue may reclaim, until its condition is written."""
    await _run(cluster, _one_gpu_jobs(nodes, GPUS))
    async with cluster.scheduler(_policy("reclaim"), wait=True):
        began = time.perf_counter()
        await cluster.submit([Workload("gang", OWED, GANG, GPUS)])
        while not await _is_unschedulable(cluster.client):
            await asyncio.sleep(0.02)
        ended = time.perf_counter()
    assert not cluster.evicted, "the gang cannot fit, so nothing must be evicted for it"
    return Measured(ended - began, Writes(0, GANG + 2))


async def _is_unschedulable(client: Client) -> bool:
    group = await client.get(POD_GROUPS, "gang", namespace=NAMESPACE)
    conditions = group.status.conditions or []
    return any(each.type == "Unschedulable" and each.status == "True" for each in conditions)


Situation = Callable[[ScaleCluster, list[str]], Awaitable[Measured]]
#: By name the function and the published seconds.
SITUATIONS: dict[str, tuple[Situation, float]] = {
    "fill": (_fill, 398.0),
    "topology": (_topology, 48.7),
    "reclaim-gang": (_reclaim_gang, 85.0),
    "reclaim-jobs": (_reclaim_jobs, 694.0),
    "consolidate": (_consolidate, 456.0),
    "unschedulable": (_unschedulable, 249.0),
}


def scale(parameters: Parameters, runs: int, situations: Sequence[str] = ()) -> list[Result]:
    with real_plane(assets()) as plane:
        return asyncio.run(measure(plane, parameters["nodes"], situations))


async def measure(plane: ControlPlane, nodes: int, situations: Sequence[str] = ()) -> list[Result]:
    """Run situations one after the other on one server; all of them if none is named."""
    compile_modules(plane)
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
        await install_crds(client)
        await _prepare(client)
        rates = await _rates(client, GPUS * nodes)
        _progress(f"server: {rates.bindings:,.0f} bindings/s, {rates.deletions:,.0f} deletions/s")
        return [await _situation(plane, client, nodes, name, rates) for name in situations or SITUATIONS]


async def _situation(plane: ControlPlane, client: Client, nodes: int, name: str, rates: Rates) -> Result:
    run, published = SITUATIONS[name]
    nodes = _tree_size(nodes) if name == "topology" else nodes
    names = await create_gpu_nodes(client, nodes)
    await _write_queues(client, nodes, name)
    if name == "topology":
        await _create_tree(client, names)
    _progress(f"{name}: prepared {nodes} nodes")
    async with ScaleCluster(plane, client).running() as cluster:
        measured = await run(cluster, names)
        evicted = cluster.evicted
    await _clear(client)
    least = rates.seconds(measured.writes)
    _progress(f"{name}: {measured.seconds:.2f} s, {published / measured.seconds:,.0f} times faster than published")
    result = Result("scale", {"nodes": nodes}, measured.seconds, measured.writes.bindings, 0.0, {})
    result.placements_per_second = measured.writes.bindings / measured.seconds
    result.more = {
        "situation": name,
        "published_seconds": published,
        "times_faster": published / measured.seconds,
        "least_seconds_of_the_server": least,
        "part_of_the_server": least / measured.seconds,
        "evictions": evicted,
        "server": msgspec.to_builtins(rates),
    }
    return finished(result)


# -- steps of situations ----------------------------------------------------------------------------------------------


def _one_gpu_jobs(nodes: list[str], each: int) -> list[Workload]:
    return [Workload(f"full-{name}-{place}", FULL, nodes=(name,)) for name in nodes for place in range(each)]


def _keys(workloads: Sequence[Workload]) -> set[str]:
    return {f"{NAMESPACE}/{pod['metadata']['name']}" for each in workloads for pod in each.members()}


async def _run(cluster: ScaleCluster, workloads: list[Workload]) -> None:
    await cluster.submit(workloads)
    await cluster.until_running()


async def _from_start(cluster: ScaleCluster, workloads: list[Workload], action: str = "") -> Measured:
    """From the start of the scheduler until all pods of the workloads, which exist before, have nodes."""
    await cluster.submit(workloads)
    keys = _keys(workloads)
    began = time.perf_counter()
    async with cluster.scheduler(_policy(action), wait=False):
        ended = await cluster.until_bound(keys)
    moved = cluster.evicted if action == "consolidate" else 0
    return Measured(ended - began, Writes(len(keys) + moved, moved, cluster.evicted))


# -- the server -------------------------------------------------------------------------------------------------------


async def _prepare(client: Client) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    for name in (FULL, OWED):
        await client.create(QUEUES, {"metadata": {"name": name}, "spec": {"weight": 1}})


async def _write_queues(client: Client, nodes: int, situation: str) -> None:
    """The arriving queue deserves everything, or too little for a gang by one GPU: pods ask for one cpu per GPU."""
    total = GPUS * nodes
    kept = total - GPUS * GANG + 1 if situation == "unschedulable" else 0
    for name, gpus in ((FULL, kept), (OWED, total - kept)):
        deserved = {"cpu": str(gpus), "memory": f"{gpus}Gi", GPU: str(gpus)}
        await client.patch(QUEUES, name, {"spec": {"deserved": deserved}})


def _tree_size(nodes: int) -> int:
    """The next size that makes a tree of racks of two, blocks of eight racks and zones of eight blocks."""
    step = 128 if nodes >= 128 else 16
    return -(-nodes // step) * step


async def _create_tree(client: Client, names: list[str]) -> None:
    nodes = [kube.KubeNode(metadata=ObjectMeta(name=name)) for name in names]
    racks, blocks = len(names) // 2, len(names) // 16
    tree = network(nodes, [racks, blocks, max(blocks // 8, 1)])
    documents = [msgspec.to_builtins(each) for each in tree if isinstance(each, KubeHyperNode)]
    await at_once(client.create(HYPER_NODES, document) for document in documents)


async def _rates(client: Client, pods: int) -> Rates:
    """How fast the server creates, binds and deletes pods for a client that does nothing else."""
    (node, *_), numbers = await create_gpu_nodes(client, 1), range(min(pods, 2000))
    names = [f"probe-{number}" for number in numbers]
    documents = Workload("probe", FULL, len(names)).members()
    creations = await _rate(client.create(PODS, document, namespace=NAMESPACE) for document in documents)
    uids = {pod.metadata.name: pod.metadata.uid for pod in (await client.list(PODS, namespace=NAMESPACE)).items}
    bindings = await _rate(client.bind(NAMESPACE, name, uids[name], node) for name in names)
    deletions = await _rate(client.delete(PODS, name, namespace=NAMESPACE, grace_period=0) for name in names)
    return Rates(creations, bindings, deletions)


async def _rate(requests: Any) -> float:
    made = list(requests)
    began = time.perf_counter()
    await at_once(made)
    return len(made) / (time.perf_counter() - began)


async def _clear(client: Client) -> None:
    options = msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
    for resource in (PODS, POD_GROUPS):
        await client.request("DELETE", resource.path(namespace=NAMESPACE), body=options, timeout=600.0)
    for cluster_wide in (HYPER_NODES, NODES):
        await client.request("DELETE", cluster_wide.path(), body=options, timeout=600.0)
    while (await client.list(PODS, namespace=NAMESPACE, limit=1)).items:
        await asyncio.sleep(0.1)


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
