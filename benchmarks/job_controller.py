"""The controller of Volcano Jobs, when very many Jobs are submitted at once.

The groups are admitted as soon as they exist, as by a scheduler without a limit. The rate counts from the submission of
the first Job, when the controller runs, to the last pod. It is compared, in turn, with that of a client which creates
the same pods and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benchmarks.api_server import peak, processor_seconds, used_by_all
from benchmarks.local_cluster import Parameters, at_once
from benchmarks.measurement import Result, finished
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import NAMESPACES, POD_GROUPS, PODS, VOLCANO_JOBS
from stromboli.kube.objects.volcano import PodGroup
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.tasks import pod_of_task, tasks_of
from testbed.assets import assets
from testbed.embedded import embedded_plane
from testbed.plane import ControlPlane
from testbed.real import real_plane

SIZE = 10
MOST_RUNS = 3
#: Pods are counted again after this part of the time that the missing ones will take: a server counts slowly.
_PAUSE = 0.5
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
#: The Job that shows that the controller runs.
_FIRST = "first"
#: The timeout of the deletion of all pods, in seconds.
_LONGEST = 300.0


class Run(NamedTuple):
    """Seconds until all pods exist, and peak memory and processor time of the controller until then."""

    seconds: float
    peak_mebibytes: float
    processor_seconds: float
    #: Processor time of all processes: this one, the controller and the server.
    processor_seconds_of_all: float
    #: Bytes that the server allocated: unlike times, the same on a busy machine. 0 for the local server.
    allocated: float
    #: The client that only creates pods.
    raw: RawRun


class RawRun(NamedTuple):
    """Seconds of a client that only creates the pods, processor time of all processes, and allocated bytes."""

    seconds: float
    processor_seconds_of_all: float
    allocated: float


def embedded(parameters: Parameters, runs: int) -> list[Result]:
    """On the local API server, in a process of its own."""
    with embedded_plane() as plane:
        return [asyncio.run(_measure("job-controller", plane, parameters, min(runs, MOST_RUNS)))]


def real(parameters: Parameters, runs: int) -> list[Result]:
    """On a real kube-apiserver with etcd."""
    with real_plane(assets()) as plane:
        return [asyncio.run(_measure("job-controller-real", plane, parameters, min(runs, MOST_RUNS)))]


async def _measure(name: str, plane: ControlPlane, parameters: Parameters, runs: int) -> Result:
    jobs = parameters["jobs"]
    pods = jobs * SIZE
    made: list[Run] = []
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
        await install_crds(client)
        for number in range(runs):
            raw = await _raw(client, jobs, f"raw-{number}")
            made.append(await _controlled(plane, client, jobs, f"jobs-{number}", raw))
    seconds = statistics.median(each.seconds for each in made)
    processor = statistics.median(each.processor_seconds for each in made)
    result = Result(name, parameters, seconds, pods, pods / seconds, {"created": seconds})
    result.runs = [each.seconds for each in made]
    result.more = {
        "raw_pods_per_second": pods / statistics.median(each.raw.seconds for each in made),
        "part_of_raw": statistics.median(each.raw.seconds / each.seconds for each in made),
        "part_of_raw_by_processor_time": statistics.median(
            each.raw.processor_seconds_of_all / each.processor_seconds_of_all for each in made
        ),
        "controller_peak_mebibytes": max(each.peak_mebibytes for each in made),
        "controller_processor_milliseconds_per_pod": 1000 * processor / pods,
        "processor_milliseconds_per_pod": [1000 * each.processor_seconds_of_all / pods for each in made],
        "raw_processor_milliseconds_per_pod": [1000 * each.raw.processor_seconds_of_all / pods for each in made],
    }
    if made[0].allocated:
        result.more["server_kibibytes_per_pod"] = [each.allocated / 1024 / pods for each in made]
        result.more["raw_server_kibibytes_per_pod"] = [each.raw.allocated / 1024 / pods for each in made]
    return finished(result)


async def _raw(client: Client, jobs: int, namespace: str) -> RawRun:
    await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    pods = [pod for number in range(jobs) for pod in _pods(number)]
    allocated, used, began = await _allocated(client), used_by_all(), time.perf_counter()
    await at_once(client.create(PODS, pod, namespace=namespace) for pod in pods)
    run = RawRun(time.perf_counter() - began, used_by_all() - used, await _allocated(client) - allocated)
    await _clear(client, namespace)
    return run


async def _allocated(client: Client) -> float:
    """Bytes that a server in Go has allocated so far."""
    try:
        metrics = await client.request("GET", "/metrics", accept="text/plain")
    except ApiError:
        return 0.0
    found = re.search(rb"^go_memstats_alloc_bytes_total (\S+)$", metrics, re.MULTILINE)
    return float(found[1]) if found else 0.0


async def _controlled(plane: ControlPlane, client: Client, jobs: int, namespace: str, raw: RawRun) -> Run:
    for name in (namespace, f"{_FIRST}-{namespace}"):
        await client.create(NAMESPACES, {"metadata": {"name": name}})
    with _controller(plane) as process:
        async with _admission(client):
            await _submit(client, 1, f"{_FIRST}-{namespace}")
            allocated = await _allocated(client)
            used, all_used, began = processor_seconds(process.pid), used_by_all(), time.perf_counter()
            await _submit(client, jobs, namespace)
            seconds, all_used = time.perf_counter() - began, used_by_all() - all_used
            used, allocated = processor_seconds(process.pid) - used, await _allocated(client) - allocated
            run = Run(seconds, peak(process.pid), used, all_used, allocated, raw)
    await _clear(client, namespace)
    return run


async def _submit(client: Client, jobs: int, namespace: str) -> None:
    """Submit Jobs, and wait until all their pods exist."""
    began = time.perf_counter()
    await at_once(client.create(VOLCANO_JOBS, _job(number), namespace=namespace) for number in range(jobs))
    while missing := jobs * SIZE - await _pods_of(client, namespace):
        present = max(jobs * SIZE - missing, 1)
        left = (time.perf_counter() - began) * missing / present
        await asyncio.sleep(min(max(_PAUSE * left, _SHORTEST_PAUSE), _LONGEST_PAUSE))


async def _clear(client: Client, namespace: str) -> None:
    now = msgspec.json.encode({"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
    for kind in (VOLCANO_JOBS, POD_GROUPS, PODS):
        await client.request("DELETE", kind.path(namespace=namespace), body=now, timeout=_LONGEST)


@contextlib.contextmanager
def _controller(plane: ControlPlane) -> Iterator[subprocess.Popen[bytes]]:
    words = [
        str(Path(sys.executable).parent / "stromboli"), "controller", "--controllers=job", "--leader-elect=false",
        "--listen-address=", "--healthz-address=", f"--kubeconfig={plane.kubeconfig}",
    ]  # fmt: skip
    log = plane.kubeconfig.parent / "job-controller.log"
    with log.open("w") as output, subprocess.Popen(words, stdout=output, stderr=output) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextlib.asynccontextmanager
async def _admission(client: Client) -> AsyncIterator[None]:
    """Admit new groups to their queue."""
    groups = Informer(client, POD_GROUPS)

    async def admit(key: str) -> None:
        namespace, _, name = key.partition("/")
        await client.patch(POD_GROUPS, name, {"status": {"phase": "Inqueue"}}, namespace=namespace)

    queue: WorkQueue[str] = WorkQueue(admit, name="admission", workers=16)

    def changed(old: PodGroup | None, new: PodGroup | None) -> None:
        if old is None and new is not None:
            queue.add(new.key)

    groups.listen(changed)
    tasks = [asyncio.ensure_future(part) for part in (groups.run(), queue.run())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pods_of(client: Client, namespace: str) -> int:
    answer = await client.request("GET", PODS.path(namespace=namespace), params={"limit": "1"})
    page = msgspec.json.decode(answer)
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))


def _job(number: int) -> dict[str, Any]:
    container = {"name": "main", "image": "example/worker", "resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    tasks = [{"name": "worker", "replicas": SIZE, "template": template}]
    return {
        "apiVersion": VOLCANO_JOBS.api_version,
        "kind": "Job",
        "metadata": {"name": f"job-{number:05}"},
        "spec": {"minAvailable": SIZE, "schedulerName": "stromboli", "queue": "default", "tasks": tasks},
    }


def _pods(number: int) -> Iterator[dict[str, Any]]:
    """Return the pods of a Job as the controller makes them, with the reference to their owner."""
    document = _job(number)
    document["metadata"]["uid"] = str(uuid.UUID(int=number))
    job = WorkloadDocument(document)
    for task in tasks_of(job):
        for index in range(task.replicas):
            pod = pod_of_task(job, task, index)
            del pod["metadata"]["namespace"]
            yield pod
