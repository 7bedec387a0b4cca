"""Probes of JobFlows, with requests over the loopback interface."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web

from stromboli.controllers.flows.probes import ProbeRunner, may_be_probed, probe_at, statuses_hold
from stromboli.kube.client.client import Client
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.catalogue import PODS, VOLCANO_JOBS
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


async def create_pods(client: Client, addresses: tuple[str, ...], owner: str = "j1") -> None:
    reference = {"apiVersion": VOLCANO_JOBS.api_version, "kind": "Job", "name": "etl-server", "uid": owner}
    owners = [{**reference, "controller": True}]
    labels = {"volcano.sh/job-name": "etl-server", "volcano.sh/task-spec": "web"}
    for number, address in enumerate(addresses):
        spec = {"containers": [{"name": "main", "image": "example/web"}]}
        body = {"metadata": {"name": f"web-{number}", "labels": labels, "ownerReferences": owners}, "spec": spec}
        await client.create(PODS, body, namespace="default")
        status = {"phase": "Running", "podIP": address}
        await client.patch(PODS, f"web-{number}", {"status": status}, namespace="default", subresource="status")


def on_loopback(address: str) -> bool:
    """Allow the addresses of these tests, which pods of a cluster cannot have."""
    return address.startswith("127.")


@pytest.mark.parametrize("name", CASES)
async def test_probe(client: Client, name: str) -> None:
    case = CASES[name]
    await create_pods(client, case.addresses)
    job = VolcanoJob(
        metadata=ObjectMeta(name="etl-server", namespace="default", uid="j1"),
        spec={"tasks": [task("web", 3, minAvailable=2)]},
        status=VolcanoJobStatus(
            state=VolcanoJobState(case.phase), task_status_count={"web": VolcanoTaskState(case.counts)}
        ),
    )
    async with listening() as port:
        probe = probe_at(flow(with_port(case.probe, port)), "spec.probe")
        assert probe is not None
        runner = ProbeRunner(client, timeout=0.3, allows=on_loopback)
        assert (statuses_hold(probe, [job]) and await runner.passes(probe, [job])) == case.passes


async def test_probe_with_many_slow_conditions_ends(client: Client) -> None:
    await create_pods(client, ("127.0.0.1", "127.0.0.1"))
    metadata = ObjectMeta(name="etl-server", namespace="default", uid="j1")
    job = VolcanoJob(metadata=metadata, spec={"tasks": [task("web", 2)]})
    async with listening() as port:
        slow = [{"taskName": "web", "path": "/late", "port": port}] * 100
        probe = probe_at(flow({"httpGetList": slow}), "spec.probe")
        assert probe is not None
        async with asyncio.timeout(30):
            assert not await ProbeRunner(client, max_seconds=0.5, allows=on_loopback).passes(probe, [job])


ADDRESSES = {
    "10.0.3.7": True,
    "192.168.1.9": True,
    "fd00::7": True,
    "2001:db8::7": True,
    "127.0.0.1": False,
    "127.8.0.1": False,
    "::1": False,
    "::ffff:127.0.0.1": False,
    "169.254.169.254": False,
    "::ffff:169.254.169.254": False,
    "fe80::1": False,
    "0.0.0.0": False,  # noqa: S104
    "::": False,
    "224.0.0.1": False,
    "fd00:ec2::254": False,
    "kubernetes.default.svc": False,
    "10.0.3.7@169.254.169.254": False,
    "2130706433": False,
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_only_addresses_that_pods_can_have_are_probed(address: str) -> None:
    assert may_be_probed(address) == ADDRESSES[address]


@pytest.mark.parametrize(
    ("owner", "allows"), [("another", on_loopback), ("j1", may_be_probed)], ids=["pod of another", "loopback"]
)
async def test_pods_that_are_not_the_jobs_own_get_no_connection(
    client: Client, owner: str, allows: Callable[[str], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_pods(client, ("127.0.0.1", "127.0.0.1"), owner)
    metadata = ObjectMeta(name="etl-server", namespace="default", uid="j1")
    job = VolcanoJob(metadata=metadata, spec={"tasks": [task("web", 2)]})
    opened: list[str] = []

    async def connect(_self: ProbeRunner, _probe: Any, address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(ProbeRunner, "_connects", connect)
    monkeypatch.setattr(ProbeRunner, "_responds", connect)
    for conditions in (http(), tcp()):
        probe = probe_at(flow(conditions), "spec.probe")
        assert probe is not None
        assert not await ProbeRunner(client, allows=allows).passes(probe, [job])
    assert opened == []


async def test_no_more_of_an_endless_body_is_read_than_a_buffer(client: Client) -> None:
    sent = 0

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(OSError):
            while True:
                writer.write(b"1000\r\n" + bytes(4096) + b"\r\n")
                await writer.drain()
                sent += 4096
        writer.close()

    await create_pods(client, ("127.0.0.1", "127.0.0.1"))
    metadata = ObjectMeta(name="etl-server", namespace="default", uid="j1")
    job = VolcanoJob(metadata=metadata, spec={"tasks": [task("web", 2)]})
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        probe = probe_at(flow({"httpGetList": [{"taskName": "web", "port": port}]}), "spec.probe")
        assert probe is not None
        async with asyncio.timeout(30):
            assert await ProbeRunner(client, allows=on_loopback).passes(probe, [job])
    assert sent < 64 * 2**20  # What the buffers of sockets take; an endless body is not read to its end.


@pytest.mark.parametrize("probe", [None, {}, {"httpGetList": []}], ids=["absent", "empty", "empty list"])
def test_probe_without_conditions_is_none(probe: Any) -> None:
    assert probe_at(flow(probe), "spec.probe") is None


def test_probe_without_a_port_is_invalid() -> None:
    with pytest.raises(ObjectError, match=r"spec.probe.tcpSocketList\[0\].port: must be from 1 to 65535, got 0"):
        probe_at(flow({"tcpSocketList": [{"taskName": "web"}]}), "spec.probe")
