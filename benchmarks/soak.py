"""Gangs that arrive and end for minutes, and what that leaves in memory: a scheduler process, and `stromboli up`.

Half of the gangs belong to the scheduler within `stromboli up`, half to a scheduler process on the
same cluster. After the warm-up neither may grow: `more` has the slope of their memory, in KiB per gang.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from benchmarks.local_cluster import GANG, Parameters, at_once, pod_document
from benchmarks.measurement import Result, finished
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.objects.catalogue import POD_GROUPS, PODS
from stromboli.kube.objects.timestamps import RUN_SECONDS

_UP, _SCHEDULER = "up", "scheduler"
#: The `schedulerName` of pods, by the process that schedules them.
_NAMES = {_UP: "stromboli", _SCHEDULER: "soak"}
#: Seconds between two gangs, and the number of gangs that exist at a time.
_PACE, _ALIVE = 0.25, 40
#: The part of the time after which memory is compared, and in which caches fill up to their bounds.
_WARM_UP = 1 / 3
_START_SECONDS = 60.0


def soak(parameters: Parameters, runs: int) -> list[Result]:
    """One run of so many minutes."""
    return [asyncio.run(_soak(parameters))]


async def _soak(parameters: Parameters) -> Result:
    began = time.monotonic()
    seconds = parameters["minutes"] * 60.0
    async with _cluster() as (client, processes):
        samples = await _churn(client, processes, seconds)
    gangs = samples[-1][0]
    result = Result("soak", parameters, time.monotonic() - began, gangs * GANG, gangs * GANG / seconds, {})
    result.more = {"gangs": gangs} | {name: _summary(samples, name) for name in _NAMES}
    return finished(result)


def _summary(samples: list[tuple[int, dict[str, float]]], name: str) -> dict[str, float]:
    """First and last memory in MiB, and the slope after the warm-up by least squares, in KiB per gang."""
    after = samples[int(len(samples) * _WARM_UP) :]
    return {
        "first_mebibytes": samples[0][1][name],
        "after_warm_up_mebibytes": after[0][1][name],
        "last_mebibytes": samples[-1][1][name],
        "kibibytes_per_gang": 1024 * slope([(float(gangs), memory[name]) for gangs, memory in after]),
    }


def slope(points: list[tuple[float, float]]) -> float:
    """The slope of the line with the least squares."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


async def _churn(client: Client, processes: dict[str, int], seconds: float) -> list[tuple[int, dict[str, float]]]:
    """Create and delete gangs; return the number of gangs and the memory of each process over time."""
    samples: list[tuple[int, dict[str, float]]] = []
    alive: deque[int] = deque()
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        due = time.monotonic() + _PACE
        await _create(client, number, [*_NAMES.values()][number % len(_NAMES)])
        alive.append(number)
        number += 1
        if len(alive) > _ALIVE:
            await _delete(client, alive.popleft())
        if number % 20 == 0:
            samples.append((number, {name: _memory(process) for name, process in processes.items()}))
        await asyncio.sleep(max(0.0, due - time.monotonic()))
    return samples


async def _create(client: Client, number: int, scheduler: str) -> None:
    group = {"metadata": {"name": f"gang-{number:06}"}, "spec": {"minMember": GANG, "queue": "default"}}
    await client.create(POD_GROUPS, group, namespace="default")
    await at_once(client.create(PODS, pod, namespace="default") for pod in _pods(number, scheduler))


def _pods(number: int, scheduler: str) -> list[dict[str, Any]]:
    pods = [pod_document(number * GANG + place, scheduler=scheduler) for place in range(GANG)]
    for pod in pods:
        pod["metadata"]["annotations"][RUN_SECONDS] = "2"
    return pods


async def _delete(client: Client, number: int) -> None:
    """Delete a gang that has ended; on a slow machine it is waited for."""
    names = [pod["metadata"]["name"] for pod in _pods(number, "")]
    async with asyncio.timeout(_START_SECONDS):
        while (await client.get(PODS, names[-1], namespace="default")).status.phase != "Succeeded":
            await asyncio.sleep(_PACE)
    await at_once(client.delete(PODS, name, namespace="default", grace_period=0) for name in names)
    with contextlib.suppress(ApiError):  # a controller may have deleted it with its pods
        await client.delete(POD_GROUPS, f"gang-{number:06}", namespace="default")


def _memory(process: int) -> float:
    """The memory of a process now, in mebibytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


@contextlib.asynccontextmanager
async def _cluster() -> AsyncIterator[tuple[Client, dict[str, int]]]:
    """`stromboli up` and another scheduler on it, as processes, with a client."""
    command = [str(Path(sys.executable).parent / "stromboli")]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        config = folder / "kubeconfig"
        output = stack.enter_context((folder / "log").open("w"))

        def start(*arguments: str) -> subprocess.Popen[bytes]:
            process = stack.enter_context(subprocess.Popen([*command, *arguments], stdout=output, stderr=output))
            stack.callback(process.terminate)
            return process

        up = start(_UP, "--nodes=50", f"--kubeconfig={config}", "--log-level=warning")
        async with asyncio.timeout(_START_SECONDS):
            while not config.exists():
                await asyncio.sleep(0.1)
        async with Client(load_kubeconfig(str(config))) as client:
            await _until_served(client)
            addresses = ("--listen-address=", "--healthz-address=", "--leader-elect=false", "--log-level=warning")
            name = f"--scheduler-name={_NAMES[_SCHEDULER]}"
            scheduler = start(_SCHEDULER, f"--kubeconfig={config}", name, *addresses)
            yield client, {_UP: up.pid, _SCHEDULER: scheduler.pid}


async def _until_served(client: Client) -> None:
    """Wait until the server has the kinds of gangs."""
    async with asyncio.timeout(_START_SECONDS):
        while True:
            with contextlib.suppress(RequestFailed):
                await client.list(POD_GROUPS)
                return
            await asyncio.sleep(0.2)
