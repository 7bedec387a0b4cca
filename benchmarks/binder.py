"""A scheduler with bind requests and a binder, against a scheduler that binds directly.

On a real API server with its store: how many pods per second get a node in both modes; how long cycles take without a
binder; and how soon a binder that finds thousands of open members binds the first, with how much memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.api_server import REQUESTS, peak, prepare, rate, remove, until_all, watched
from benchmarks.local_cluster import Parameters, at_once, pod_document
from benchmarks.measurement import Result, finished
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.objects.catalogue import BIND_REQUESTS, NAMESPACES, POD_GROUPS, PODS
from testbed.assets import assets
from testbed.plane import ControlPlane
from testbed.real import real_plane

#: Pods of one gang.
SIZE = 100
#: How long the binder is stopped, in seconds.
WITHOUT_BINDER = 5.0
_POLL = 0.01


def binder(parameters: Parameters, runs: int) -> list[Result]:
    """`placements_per_second` is the rate with bind requests."""
    with real_plane(assets()) as plane:
        return [asyncio.run(_measure(plane, parameters))]


async def _measure(plane: ControlPlane, parameters: Parameters) -> Result:
    pods, members = parameters["pods"], parameters["members"]
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
        nodes = await prepare(client, parameters["nodes"])
        direct, direct_cycle, _ = await _bound(plane, client, "direct", pods)
        requested, request_cycle, busy_peak = await _bound(plane, client, "request", pods)
        stopped_cycle = await _undisturbed(plane, client, pods)
        resumed, resumed_peak = await _resumed(plane, client, members, nodes)
    result = Result("binder", parameters, pods / requested, pods, requested, {"bound": pods / requested})
    result.more = {
        "direct_pods_per_second": direct,
        "request_pods_per_second": requested,
        "part_of_direct": requested / direct,
        "longest_cycle_direct_seconds": direct_cycle,
        "longest_cycle_request_seconds": request_cycle,
        "longest_cycle_without_binder_seconds": stopped_cycle,
        "seconds_from_lease_to_first_bind": resumed,
        "binder_peak_mebibytes": max(busy_peak, resumed_peak),
    }
    return finished(result)


async def _bound(plane: ControlPlane, client: Client, mode: str, pods: int) -> tuple[float, float, float]:
    """Pods per second, the longest cycle, and the peak memory of the binder."""
    await _submit(client, mode, pods)
    most = 0.0
    async with watched(client, mode) as times:
        with contextlib.ExitStack() as stack:
            binding = stack.enter_context(_running(plane, mode, "binder")) if mode == "request" else None
            stack.enter_context(_running(plane, mode, "scheduler", f"--bind-mode={mode}"))
            await until_all(times, pods)
            most = peak(binding.pid) if binding is not None else 0.0
    await _clear(client, mode)
    return rate(times), _longest_cycle(plane, mode), most


async def _undisturbed(plane: ControlPlane, client: Client, pods: int) -> float:
    """The longest cycle of a scheduler without a binder."""
    await _submit(client, "stopped", pods)
    with _running(plane, "stopped", "scheduler", "--bind-mode=request"):
        deadline = time.monotonic() + 120.0
        while len((await client.list(BIND_REQUESTS, namespace="stopped")).items) < pods // SIZE:
            if time.monotonic() > deadline:
                raise TimeoutError("the scheduler has not written its requests")
            await asyncio.sleep(0.2)
        await asyncio.sleep(WITHOUT_BINDER)
    await _clear(client, "stopped")
    return _longest_cycle(plane, "stopped")


async def _resumed(plane: ControlPlane, client: Client, members: int, nodes: list[str]) -> tuple[float, float]:
    """Seconds from the lease to the first bound pod, and the peak memory when all are bound."""
    await _submit(client, "resumed", members)
    pods = (await client.list(PODS, namespace="resumed")).items
    await at_once(
        client.create(BIND_REQUESTS, _request(number, pods[number * SIZE : (number + 1) * SIZE], nodes),
                      namespace="resumed")
        for number in range(members // SIZE)
    )  # fmt: skip
    async with watched(client, "resumed") as times:
        with _running(plane, "resumed", "binder", elects=True) as process:
            log = _log(plane, "resumed", "binder")
            while "leadership acquired" not in log.read_text():
                await asyncio.sleep(_POLL)
            leads = time.perf_counter()
            await until_all(times, members)
            most = peak(process.pid)
    await _clear(client, "resumed")
    return times[0] - leads, most


def _request(number: int, pods: list[Any], nodes: list[str]) -> dict[str, Any]:
    chosen = [
        {"podName": pod.metadata.name, "podUID": pod.metadata.uid, "selectedNode": nodes[(number + place) % len(nodes)]}
        for place, pod in enumerate(pods)
    ]
    spec = {"scheduler": "none", "epoch": 1, "minMember": len(chosen), "deadlineSeconds": 600, "pods": chosen}
    return {"metadata": {"name": f"request-{number:04}"}, "spec": spec}


async def _submit(client: Client, namespace: str, pods: int) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    await at_once(
        client.create(POD_GROUPS, {"metadata": {"name": f"gang-{n:04}"}, "spec": {"minMember": SIZE}},
                      namespace=namespace)
        for n in range(pods // SIZE)
    )  # fmt: skip
    await at_once(client.create(PODS, _pod(number), namespace=namespace) for number in range(pods))


def _pod(number: int) -> dict[str, Any]:
    gang, document = f"gang-{number // SIZE:04}", pod_document(0)
    metadata = {"name": f"{gang}-{number % SIZE}", "annotations": {"scheduling.k8s.io/group-name": gang}}
    return {**document, "metadata": metadata}


async def _clear(client: Client, namespace: str) -> None:
    await client.request("DELETE", BIND_REQUESTS.path(namespace=namespace), body=b"{}")
    await remove(client, namespace)


@contextlib.contextmanager
def _running(
    plane: ControlPlane, mode: str, command: str, *arguments: str, elects: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    words = [
        str(Path(sys.executable).parent / "stromboli"), command, f"--leader-elect={str(elects).lower()}",
        "--leader-elect-resource-namespace=default", "--listen-address=", "--healthz-address=", "--log-format=json",
        f"--kubeconfig={plane.kubeconfig}", f"--kube-api-qps={REQUESTS}", f"--kube-api-burst={REQUESTS}", *arguments,
    ]  # fmt: skip
    with (
        _log(plane, mode, command).open("w") as output,
        subprocess.Popen(words, stdout=output, stderr=output) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()


def _longest_cycle(plane: ControlPlane, mode: str) -> float:
    """The longest cycle with a decision, from the log."""
    lines = _log(plane, mode, "scheduler").read_text().splitlines()
    records = [json.loads(line) for line in lines if line.startswith("{")]
    return max((float(each["seconds"]) for each in records if "binds" in each and "seconds" in each), default=0.0)


def _log(plane: ControlPlane, mode: str, command: str) -> Path:
    return plane.kubeconfig.parent / f"{mode}-{command}.log"
