"""`stromboli plan -f job.yaml` in a full cluster: the whole command, against a server in another process.

Wall time and processor time of the command, for a job that starts and one that waits.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.local_cluster import Parameters, fill_cluster
from benchmarks.measurement import Result, finished
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from testbed.embedded import embedded_plane

#: The processors that each of four pods requests: a node has 64, of which some are in use.
_JOBS = {"starts": 8, "waits": 400}
_CODES = {"starts": 0, "waits": 3}


def live(parameters: Parameters, runs: int) -> list[Result]:
    """`seconds` is the median wall time of the command."""
    with embedded_plane() as plane, tempfile.TemporaryDirectory() as folder:
        asyncio.run(_fill(plane.kubeconfig, parameters))
        return [_measure(name, plane.kubeconfig, Path(folder), parameters, runs) for name in _JOBS]


async def _fill(kubeconfig: Path, parameters: Parameters) -> None:
    async with Client(load_kubeconfig(str(kubeconfig))) as client:
        await fill_cluster(client, parameters["nodes"], parameters["pods"])


def _measure(name: str, kubeconfig: Path, folder: Path, parameters: Parameters, runs: int) -> Result:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(_job(_JOBS[name])))
    command = [sys.executable, "-m", "stromboli", "plan", "-f", str(path)]
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    walls, processors = [], []
    for _ in range(runs):
        began, used = time.perf_counter(), _processor_seconds()
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        walls.append(time.perf_counter() - began)
        processors.append(_processor_seconds() - used)
        if done.returncode != _CODES[name]:
            raise RuntimeError(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    seconds = statistics.median(walls)
    spent = {"cpu": statistics.median(processors)}
    result = Result(f"live-{name}", parameters, seconds, 4, 4 / seconds, spent, runs=walls)
    return finished(result)


def _processor_seconds() -> float:
    """The processor time of ended child processes; the server still runs."""
    times = os.times()
    return times.children_user + times.children_system


def _job(cpu: int) -> dict[str, Any]:
    request = {"requests": {"cpu": str(cpu)}}
    container = {"name": "main", "image": "example/main", "resources": request}
    template = {"spec": {"schedulerName": "stromboli", "restartPolicy": "Never", "containers": [container]}}
    spec = {"parallelism": 4, "completions": 4, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "submitted"}, "spec": spec}
