"""A cluster of simulated GPU nodes on an API server: kubelets, owners that recreate evicted pods, and a scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.api_server import REQUESTS, environment, ready_nodes
from benchmarks.local_cluster import at_once
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import NODES, POD_GROUPS, PODS
from stromboli.kube.objects.pod import Pod
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.local.fakes.kubelet.kubelets import Kubelets
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool
from testbed.plane import ControlPlane

NAMESPACE = "scale"
GPU = "nvidia.com/gpu"
GPUS = 8
#: The time limit of a situation, in seconds.
LIMIT = 900.0
_GROUP = "scheduling.k8s.io/group-name"


@dataclass(frozen=True, slots=True)
class Workload:
    """Equal pods of one PodGroup, all or nothing. Pods with a node run there from the start."""

    name: str
    queue: str
    pods: int = 1
    gpus: int = 1
    nodes: tuple[str, ...] = ()
    topology: dict[str, Any] = field(default_factory=dict)

    def group(self) -> dict[str, Any]:
        topology = {"networkTopology": self.topology} if self.topology else {}
        return {"metadata": {"name": self.name}, "spec": {"minMember": self.pods, "queue": self.queue, **topology}}

    def members(self) -> list[dict[str, Any]]:
        return [self._pod(number) for number in range(self.pods)]

    def _pod(self, number: int) -> dict[str, Any]:
        amounts = {"cpu": str(self.gpus), "memory": f"{self.gpus}Gi", GPU: str(self.gpus)}
        resources = {"requests": amounts, "limits": {GPU: str(self.gpus)}}
        spec: dict[str, Any] = {
            "schedulerName": "stromboli",
            "containers": [{"name": "main", "image": "example/worker", "resources": resources}],
        }
        if self.nodes:
            spec["nodeName"] = self.nodes[number]
        return {"metadata": {"name": f"{self.name}-{number}", "annotations": {_GROUP: self.name}}, "spec": spec}


class ScaleCluster:
    """The pods of one namespace, as its informer reports them."""

    def __init__(self, plane: ControlPlane, client: Client) -> None:
        self.plane = plane
        self.client = client
        self._nodes = Informer(client, NODES)
        self.pods = Informer(client, PODS)
        self._kubelets = Kubelets(client, self._nodes, self.pods)
        self._documents: dict[str, dict[str, Any]] = {}
        self._owners: WorkQueue[str] = WorkQueue(self._recreate, name="owners", workers=8)
        #: When each pod got its node, by its key.
        self.bound: dict[str, float] = {}
        self.evicted = 0
        self.pods.listen(self._pod_changed)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[ScaleCluster]:
        services = [self._nodes.run(), self.pods.run(), self._kubelets.run(), self._owners.run()]
        tasks = [asyncio.ensure_future(service) for service in services]
        try:
            await self._nodes.synced.wait()
            await self.pods.synced.wait()
            yield self
        finally:
            self._documents.clear()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None and old is not None:
            self.bound.pop(old.key, None)
            if old.key in self._documents:
                self.evicted += 1
                self._owners.add(old.key)
        elif new is not None and new.spec.node_name:
            self.bound.setdefault(new.key, time.perf_counter())

    async def _recreate(self, key: str) -> None:
        """What a Job controller does with a pod that was evicted."""
        if key in self._documents:
            await self.client.create(PODS, self._documents[key], namespace=NAMESPACE)

    async def submit(self, workloads: Iterable[Workload]) -> None:
        made = list(workloads)
        await at_once(self.client.create(POD_GROUPS, each.group(), namespace=NAMESPACE) for each in made)
        documents = [pod for each in made for pod in each.members()]
        for document in documents:
            spec = {name: value for name, value in document["spec"].items() if name != "nodeName"}
            self._documents[f"{NAMESPACE}/{document['metadata']['name']}"] = {**document, "spec": spec}
        await at_once(self.client.create(PODS, document, namespace=NAMESPACE) for document in documents)

    async def until_running(self) -> None:
        """Wait until the kubelets have started every pod with a node."""
        await _until(lambda: all(pod.status.phase == "Running" for pod in self.pods.objects.values()))

    async def until_bound(self, keys: set[str]) -> float:
        """Wait until these pods have nodes; return when the last one got it."""
        await _until(lambda: keys <= self.bound.keys())
        return max(self.bound[key] for key in keys)

    @contextlib.asynccontextmanager
    async def scheduler(self, policy: str, *, wait: bool) -> AsyncIterator[None]:
        """A scheduler process; `wait` until it has listed everything."""
        folder, port = self.plane.kubeconfig.parent, _free_port()
        conf = folder / "scale-policy.yaml"
        conf.write_text(policy)
        command = [
            str(Path(sys.executable).parent / "stromboli"), "scheduler", "--leader-elect=false", "--listen-address=",
            f"--healthz-address=127.0.0.1:{port}", f"--conf={conf}", f"--kubeconfig={self.plane.kubeconfig}",
            f"--kube-api-qps={REQUESTS}", f"--kube-api-burst={REQUESTS}",
        ]  # fmt: skip
        with (folder / "scale-scheduler.log").open("a") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environment(self.plane))
        try:
            if wait:
                await _until(lambda: _is_ready(port))
            yield
        finally:
            process.terminate()
            process.wait(30)


async def create_gpu_nodes(client: Client, nodes: int) -> list[str]:
    resources = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: "8"}
    return await ready_nodes(client, NodePool(nodes, resources=resources))


async def _until(reached: Any) -> None:
    async with asyncio.timeout(LIMIT):
        while not reached():
            await asyncio.sleep(0.02)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_ready(port: int) -> bool:
    with contextlib.suppress(urllib.error.URLError, OSError):
        return bool(urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).status == 200)
    return False
