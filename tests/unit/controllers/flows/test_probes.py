"""Probes of JobFlows, with requests over the loopback interface."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web

from stromboli.controllers.flows.probes import ProbeRunner, probe_at
from stromboli.kube.client.client import Client
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.volcano_jobs import VolcanoJob, VolcanoJobState, VolcanoJobStatus, VolcanoTaskState
from stromboli.workloads.document import WorkloadDocument
from tests.testing.job_world import task

#: Stands for the port that pods listen on, and for one on which nothing listens.
OPEN, CLOSED = 1, 2


@dataclass
class Case:
    probe: dict[str, Any]
    passes: bool
    #: Addresses of the running pods of task `web`, whose minimum is 2.
    addresses: tuple[str, ...] = ("127.0.0.1", "127.0.0.1")
    phase: str = "Running"
    counts: dict[str, int] | None = None


def http(path: str = "/healthy", port: int = OPEN, **fields: Any) -> dict[str, Any]:
    return {"httpGetList": [{"taskName": "web", "path": path, "port": port, **fields}]}


def tcp(port: int = OPEN, name: str = "web") -> dict[str, Any]:
    return {"tcpSocketList": [{"taskName": name, "port": port}]}


def phase(name: str, task_name: str = "web") -> dict[str, Any]:
    return {"taskStatusList": [{"taskName": task_name, "phase": name}]}


CASES = {
    "answered request": Case(http(), True),
    "answered request with a query": Case(http("/healthy?deep=1"), True),
    "path without a slash": Case(http("healthy"), True),
    "path with another host": Case(http("//127.0.0.2/healthy"), False),
    "redirection, which is not followed": Case(http("/moved"), True),
    "error": Case(http("/broken"), False),
    "no answer in time": Case(http("/slow"), False),
    "header": Case(http("/secret", httpHeader={"name": "X-Key", "value": "open"}), True),
    "missing header": Case(http("/secret"), False),
    "invalid header": Case(http(httpHeader={"name": "X\r\nY", "value": "1"}), False),
    "nothing listens": Case(http(port=CLOSED), False),
    "one pod of two answers": Case(http(), False, addresses=("127.0.0.1", "127.0.0.9")),
    "one pod of two runs": Case(http(), False, addresses=("127.0.0.1",)),
    "completed job": Case(http(), True, addresses=(), phase="Completed"),
    "open port": Case(tcp(), True),
    "closed port": Case(tcp(CLOSED), False),
    "unknown task": Case(tcp(name="database"), False),
    "all tasks": Case({"tcpSocketList": [{"port": OPEN}]}, True),
    "phase of enough pods": Case(phase("Running"), True, counts={"Running": 2, "Pending": 1}),
    "phase of too few pods": Case(phase("Running"), False, counts={"Running": 1, "Pending": 2}),
    "succeeded pods have been running": Case(phase("Running"), True, counts={"Running": 1, "Succeeded": 1}),
    "running pods have not succeeded": Case(phase("Succeeded"), False, counts={"Running": 2}),
    "phase of an unknown task": Case(phase("Running", "database"), False, counts={"Running": 2}),
    "one condition of two": Case({**tcp(), **phase("Running")}, False),
}


@contextlib.asynccontextmanager
async def listening() -> AsyncIterator[int]:
    """A server at 127.0.0.1 alone, and its port."""

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/moved":
            raise web.HTTPFound("/broken")
        if request.path == "/slow":
            await asyncio.sleep(5)
        if request.path == "/late":
            await asyncio.sleep(0.1)
            return web.Response()
        is_open = request.path == "/healthy" or request.headers.get("X-Key") == "open"
        return web.Response(status=200 if is_open else 500)

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def with_port(value: Any, port: int) -> Any:
    """Return the probe with the port that is open; port 1 of the loopback interface is closed."""
    if isinstance(value, dict):
        return {
            key: {OPEN: port, CLOSED: 1}[each] if key == "port" else with_port(each, port)
            for key, each in value.items()
        }
    return [with_port(each, port) for each in value] if isinstance(value, list) else value


def flow(probe: Any) -> WorkloadDocument:
    return WorkloadDocument({"kind": "JobFlow", "metadata": {"name": "etl"}, "spec": {"probe": probe}})


async def create_pods(client: Client, addresses: tuple[str, ...]) -> None:
    labels = {"volcano.sh/job-name": "etl-server", "volcano.sh/task-spec": "web"}
    for number, address in enumerate(addresses):
        spec = {"containers": [{"name": "main", "image": "example/web"}]}
        body = {"metadata": {"name": f"web-{number}", "labels": labels}, "spec": spec}
        await client.create(PODS, body, namespace="default")
        status = {"phase": "Running", "podIP": address}
        await client.patch(PODS, f"web-{number}", {"status": status}, namespace="default", subresource="status")


@pytest.mark.parametrize("name", CASES)
async def test_probe(client: Client, name: str) -> None:
    case = CASES[name]
    await create_pods(client, case.addresses)
    job = VolcanoJob(
        metadata=ObjectMeta(name="etl-server", namespace="default"),
        spec={"tasks": [task("web", 3, minAvailable=2)]},
        status=VolcanoJobStatus(
            state=VolcanoJobState(case.phase), task_status_count={"web": VolcanoTaskState(case.counts)}
        ),
    )
    async with listening() as port:
        probe = probe_at(flow(with_port(case.probe, port)), "spec.probe")
        assert probe is not None
        assert await ProbeRunner(client, timeout=0.3).passes(probe, [job]) == case.passes


async def test_probe_with_many_slow_conditions_ends(client: Client) -> None:
    await create_pods(client, ("127.0.0.1", "127.0.0.1"))
    job = VolcanoJob(metadata=ObjectMeta(name="etl-server", namespace="default"), spec={"tasks": [task("web", 2)]})
    async with listening() as port:
        slow = [{"taskName": "web", "path": "/late", "port": port}] * 100
        probe = probe_at(flow({"httpGetList": slow}), "spec.probe")
        assert probe is not None
        async with asyncio.timeout(5):
            assert not await ProbeRunner(client, max_seconds=0.5).passes(probe, [job])


@pytest.mark.parametrize("probe", [None, {}, {"httpGetList": []}], ids=["absent", "empty", "empty list"])
def test_probe_without_conditions_is_none(probe: Any) -> None:
    assert probe_at(flow(probe), "spec.probe") is None


def test_probe_without_a_port_is_invalid() -> None:
    with pytest.raises(ObjectError, match=r"spec.probe.tcpSocketList\[0\].port: must be from 1 to 65535, got 0"):
        probe_at(flow({"tcpSocketList": [{"taskName": "web"}]}), "spec.probe")
