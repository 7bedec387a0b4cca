"""The time of `stromboli jobs` with very many jobs: a process of its own, against a server in another process."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import time

from benchmarks.local_cluster import at_once
from benchmarks.measurement import Result, finished
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.objects.catalogue import POD_GROUPS
from testbed.embedded import embedded_plane

Parameters = dict[str, int]
_MESSAGE = (
    "needs 8 cpu, most free on a node is 4. 10/10 tasks in gang unschedulable: pod group is not ready, 10 Pending, "
    "10 minAvailable; Pending: 10 Unschedulable. Origin reason is default/job-{0}-3: 0/1000 nodes are available: "
    "1000 Insufficient cpu."
)


def job_list(parameters: Parameters, runs: int) -> list[Result]:
    """Jobs with the status that a scheduler writes are listed as a table."""
    with embedded_plane() as plane:
        asyncio.run(_fill(str(plane.kubeconfig), parameters["jobs"]))
        measured = [_listed(str(plane.kubeconfig), parameters["jobs"]) for _ in range(max(runs, 1))]
    seconds = [each for each, _ in measured]
    result = Result("job-list", parameters, min(seconds), 0, 0.0, {}, runs=seconds)
    result.more["processor_seconds"] = min(processor for _, processor in measured)
    result.more["client_peak_rss_bytes"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return [finished(result)]


async def _fill(kubeconfig: str, jobs: int) -> None:
    async with Client(load_kubeconfig(kubeconfig)) as client:
        await at_once(client.create(POD_GROUPS, job_group(number), namespace="default") for number in range(jobs))


def job_group(number: int) -> dict[str, object]:
    """Return a job: three of four wait, in ten queues."""
    waits = number % 4
    condition = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources"}
    conditions = [{**condition, "message": _MESSAGE.format(number)}] if waits else []
    return {
        "metadata": {"name": f"job-{number}", "labels": {"app": "train"}},
        "spec": {"minMember": 10, "queue": f"queue-{number % 10}", "minResources": {"cpu": "80"}},
        "status": {"phase": "Inqueue" if waits else "Running", "running": 0 if waits else 10, "conditions": conditions},
    }


def _listed(kubeconfig: str, jobs: int) -> tuple[float, float]:
    """Return the time of the whole process, and its processor time."""
    command = [sys.executable, "-m", "stromboli", "jobs", "-A", "--kubeconfig", kubeconfig]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began
    assert len(done.stdout.splitlines()) == jobs + 1
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
