"""`--watch` of commands that read their source repeatedly: rows are printed as they change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main, watching
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import NODES, QUEUES
from stromboli.local.api_server.faults import Answer, Match
from stromboli.local.api_server.server import ApiServer
from tests.testing.histories import example_records, recorded_job, recorded_pod, write_records

Step = Callable[[], None]


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run these steps, one in every pause of a watch; then interrupt it."""

    def set_steps(*steps: Step) -> None:
        remaining = iter(steps)

        def pause(seconds: float) -> None:
            step = next(remaining, None)
            if step is None:
                raise KeyboardInterrupt
            step()

        monkeypatch.setattr(watching, "pause", pause)

    return set_steps


class WatchedServer:
    """An API server whose objects change in the pauses of a watch."""

    def __init__(self, server: ApiServer, client: Client, folder: Path) -> None:
        self.server, self.client = server, client
        self._kubeconfig = folder / "kubeconfig"
        server.write_kubeconfig(self._kubeconfig)
        self._loop = asyncio.get_running_loop()

    def step(self, change: Callable[[], Coroutine[Any, Any, Any]]) -> Step:
        return lambda: asyncio.run_coroutine_threadsafe(change(), self._loop).result(10)

    async def watch(self, *arguments: str) -> Result:
        command = [*arguments, "--watch", "--kubeconfig", str(self._kubeconfig)]
        return await asyncio.to_thread(CliRunner().invoke, main, command)


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[WatchedServer]:
    async with ApiServer() as server, Client(server.connection) as client:
        await install_crds(client)
        allocatable = {"cpu": "8", "memory": "8Gi", "pods": "10"}
        ready = {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]}
        nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": ready} for name in "ab"]
        await Applier(client).apply(nodes, lambda *_: None)
        for name in "ab":
            await client.patch(NODES, name, {"spec": {"taints": None}})
        await client.create(QUEUES, {"metadata": {"name": "research"}, "spec": {"weight": 1}})
        yield WatchedServer(server, client, tmp_path)


async def test_nodes_are_printed_as_they_change_and_when_they_are_gone(
    watched: WatchedServer, between: Callable[..., None]
) -> None:
    client = watched.client
    between(
        watched.step(lambda: client.patch(NODES, "a", {"spec": {"unschedulable": True}})),
        watched.step(lambda: client.delete(NODES, "b")),
    )
    result = await watched.watch("nodes")
    assert result.exit_code == 0, result.output
    lines = [line.split()[:2] for line in result.stdout.splitlines()]
    assert lines == [
        ["NODE", "STATUS"], ["a", "Ready"], ["b", "Ready"], ["a", "Ready,SchedulingDisabled"], ["b", "Deleted"],
    ]  # fmt: skip


async def test_queues_are_printed_by_name_as_they_change(watched: WatchedServer, between: Callable[..., None]) -> None:
    client = watched.client
    between(
        watched.step(lambda: client.patch(QUEUES, "research", {"spec": {"weight": 5}})),
        watched.step(lambda: client.create(QUEUES, {"metadata": {"name": "late"}, "spec": {"weight": 1}})),
    )
    result = await watched.watch("queues", "-o", "name")
    names = [line.rpartition("/")[2] for line in result.stdout.splitlines()]
    assert names[-2:] == ["research", "late"]
    assert names.count("research") == 2


async def test_error_during_a_watch_is_reported_once_and_the_read_repeated(
    watched: WatchedServer, between: Callable[..., None]
) -> None:
    async def break_nodes() -> None:
        watched.server.faults.add(Match(method="GET", plural="nodes"), Answer(403, "Forbidden", "no"))

    async def repair_and_change() -> None:
        watched.server.faults.clear()
        await watched.client.patch(NODES, "a", {"spec": {"unschedulable": True}})

    between(watched.step(break_nodes), lambda: None, watched.step(repair_and_change))
    result = await watched.watch("nodes", "a", "-o", "name")
    assert (result.exit_code, result.stdout) == (0, "node/a\nnode/a\n")
    assert result.stderr.count("you may not list nodes in all namespaces") == 1


async def test_history_is_printed_as_it_is_recorded(tmp_path: Path, between: Callable[..., None]) -> None:
    address = str(tmp_path / "history.db")
    write_records(address, *example_records())
    between(
        lambda: write_records(address, [recorded_job("late", at=9700)], [recorded_pod("late", at=9700)]),
        lambda: write_records(address, [], [recorded_pod("late", at=9700, start=9701)]),
    )
    arguments = ["history", "-A", "--history", address, "--since", "0", "-o", "json", "--watch"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    states = [line.split('"state":"')[1].partition('"')[0] for line in result.stdout.splitlines() if '"late"' in line]
    assert states == ["Pending", "Running"]


async def test_events_of_a_job_are_followed(tmp_path: Path, between: Callable[..., None]) -> None:
    address = str(tmp_path / "history.db")
    write_records(address, *example_records())
    ended = recorded_pod("evaluate", 0, at=9000, start=9002, end=9900, outcome="Succeeded")
    between(lambda: write_records(address, [], [ended]))
    result = CliRunner().invoke(main, ["history", "evaluate", "-A", "--history", address, "--watch"])
    assert [line.split()[1] for line in result.stdout.splitlines()] == ["EVENT", "submitted", "started", "succeeded"]


@pytest.mark.parametrize("command", ["nodes", "queues"])
def test_watch_of_files_is_wrong_usage(command: str) -> None:
    result = CliRunner().invoke(main, [command, "-w", "-f", "examples/cluster"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--watch has no effect with -f, which is read once; leave it out." in result.stderr
