"""Memory and processor time of the web console, and the time of its answers: a process of its own, as its users run it.

The API server is another process. At rest nothing changes; then jobs change while a browser follows.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.job_list import job_group
from benchmarks.local_cluster import Parameters, at_once, fill_cluster
from benchmarks.measurement import Result, finished
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.objects.catalogue import POD_GROUPS
from testbed.embedded import embedded_plane

#: Seconds at rest and with changes, and changes of jobs per second.
_REST_SECONDS, _BUSY_SECONDS, _CHANGES = 20.0, 20.0, 10
_PATHS = ("/api/overview", "/api/job-table", "/api/jobs?waiting=true", "/api/queues", "/api/nodes", "/api/topology")
_TICKS = os.sysconf("SC_CLK_TCK")


def console(parameters: Parameters, runs: int) -> list[Result]:
    """`seconds` is the processor time per second at rest."""
    with embedded_plane() as plane:
        measured = asyncio.run(_measured(plane.kubeconfig, parameters))
    result = Result("console", parameters, measured["at_rest"], 0, 0.0, {}, runs=[measured["at_rest"]])
    result.more.update(measured)
    return [finished(result)]


async def _measured(kubeconfig: Path, parameters: Parameters) -> dict[str, Any]:
    connection = load_kubeconfig(str(kubeconfig))
    async with Client(connection) as client:
        await fill_cluster(client, parameters["nodes"], parameters["pods"])
        groups = (job_group(number) for number in range(parameters["jobs"]))
        await at_once(client.create(POD_GROUPS, each, namespace="default") for each in groups)
        headers = dict(await connection.credentials.headers())
        async with _running(kubeconfig, headers) as (process, session):
            after_start = _memory(process.pid)
            at_rest = await _processor_part(process.pid, _REST_SECONDS)
            answers = {path: await _seconds_of(session, path) for path in _PATHS}
            reading = asyncio.create_task(_read(session))
            changing = asyncio.create_task(_change(client, parameters["jobs"]))
            busy = await _processor_part(process.pid, _BUSY_SECONDS)
            for task in (reading, changing):
                task.cancel()
            await asyncio.gather(reading, changing, return_exceptions=True)
            return {
                "at_rest": at_rest, "with_changes": busy, "answers": answers, "rss_after_start_bytes": after_start,
                "rss_bytes": _memory(process.pid), "console_peak_rss_bytes": _memory(process.pid, "VmHWM"),
            }  # fmt: skip


@asynccontextmanager
async def _running(
    kubeconfig: Path, headers: dict[str, str]
) -> AsyncIterator[tuple[subprocess.Popen[str], aiohttp.ClientSession]]:
    command = [sys.executable, "-m", "stromboli", "console", "--console-address", "127.0.0.1:0"]
    with subprocess.Popen([*command, "--kubeconfig", str(kubeconfig)], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            found = re.search(r"http://\S+(?=/)", process.stderr.readline())
            assert found is not None, "the console printed no address"
            async with aiohttp.ClientSession(found[0], headers=headers) as session:
                await _until_ready(session)
                yield process, session
        finally:
            process.terminate()


async def _until_ready(session: aiohttp.ClientSession) -> None:
    while True:
        async with session.get("/readyz") as answer:
            if answer.status == 200:
                return
        await asyncio.sleep(0.2)


async def _seconds_of(session: aiohttp.ClientSession, path: str) -> dict[str, float]:
    """Return the times of the first answer and of a repeated one, and the size of the compressed body."""
    times, size = [], 0
    for _ in range(2):
        began = time.perf_counter()
        async with session.get(path) as answer:
            assert answer.status == 200, path
            await answer.read()
            size = int(answer.headers["Content-Length"])
        times.append(time.perf_counter() - began)
    return {"first": times[0], "repeated": times[1], "bytes": size}


async def _read(session: aiohttp.ClientSession) -> None:
    """Follow the table of jobs, as a page does."""
    async with session.get("/api/job-table") as answer:
        version = (await answer.json())["version"]
    async with session.get(f"/api/events?jobs={version}", timeout=aiohttp.ClientTimeout(None)) as stream:
        async for _ in stream.content.iter_any():
            pass


async def _change(client: Client, jobs: int) -> None:
    number = 0
    while True:
        number += 1
        await client.patch(
            POD_GROUPS, f"job-{number % jobs}", {"status": {"running": number % 10}}, namespace="default"
        )
        await asyncio.sleep(1 / _CHANGES)


async def _processor_part(process: int, seconds: float) -> float:
    """Return the processor time of a process per second."""
    before, began = _processor_seconds(process), time.perf_counter()
    await asyncio.sleep(seconds)
    return (_processor_seconds(process) - before) / (time.perf_counter() - began)


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _memory(process: int, name: str = "VmRSS") -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(rf"{name}:\s+(\d+) kB", status)[0]) * 1024
