"""Failures of the cluster and of the console itself: they are reported, and end when their cause ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import pytest

from stromboli.cli.commands.run.console import program_factory
from stromboli.console.cache import cache as cache_module
from stromboli.console.server import state as state_module
from stromboli.console.server.server import ConsoleServer
from stromboli.console.server.settings import ConsoleSettings
from stromboli.core.session.program import Program
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import CONFIG_MAPS, NAMESPACES, POD_GROUPS
from stromboli.local.api_server.faults import Answer, Hold, Match
from stromboli.local.api_server.server import ApiServer
from tests.integration.console.conftest import ANA, ROOT, ClusterThread, ConsoleClient
from tests.integration.console.test_console_events import reading

pytestmark = pytest.mark.only("embedded", because="roles of further users are those of the local server")

_NEW_POLICY = {
    "metadata": {"name": "stromboli-scheduler-configmap"},
    "data": {"volcano-scheduler.conf": 'actions: "allocate"\ntiers: []\n'},
}


@pytest.fixture
def own_thread() -> Iterator[ClusterThread]:
    thread = ClusterThread()
    thread.start()
    yield thread
    thread.stop()


@pytest.fixture
def own_cluster(own_thread: ClusterThread) -> ApiServer:
    """A cluster that a test may break."""
    return own_thread.server


@contextlib.contextmanager
def console_of(cluster: ApiServer, fails: list[str]) -> Iterator[ConsoleServer]:
    """A console that fails in an unforeseen way, once per entry that is a part of the policy."""
    usual = program_factory(())

    def program_of(text: str, source: str) -> Program:
        if fails and fails[0] in text:
            fails.pop(0)
            raise RuntimeError("a fault of the program")
        return usual(text, source)

    server = ConsoleServer(ConsoleSettings(lambda: cluster.local_connection, program_of, "127.0.0.1:0"))
    server.start()
    try:
        yield server
    finally:
        server.stop()


async def test_failed_start_is_repeated(own_cluster: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "_RETRY_SECONDS", 0.05)
    fails = [""]
    with console_of(own_cluster, fails) as server:
        await ConsoleClient(server).until_ready()
    assert not fails


async def test_state_that_is_no_longer_followed_is_not_shown(
    own_cluster: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_module, "_RETRY_SECONDS", 600.0)
    monkeypatch.setattr(cache_module, "_POLICY_SECONDS", 0.05)
    with console_of(own_cluster, ["tiers: []"]) as server:
        root = ConsoleClient(server, ROOT)
        await root.until_ready()
        async with Client(own_cluster.connection) as client, asyncio.timeout(30):
            await client.create(NAMESPACES, {"metadata": {"name": "stromboli-system"}})
            await client.create(CONFIG_MAPS, _NEW_POLICY, namespace="stromboli-system")
            while (await root.send("GET", "/readyz"))[0] != 503:
                await asyncio.sleep(0.05)
        assert "cannot be followed" in (await root.get("/api/overview", 503))["message"]


async def test_stream_ends_cleanly_when_rights_cannot_be_reviewed(own_cluster: ApiServer) -> None:
    """A job in a further namespace needs a further review."""
    with console_of(own_cluster, []) as server:
        await ConsoleClient(server).until_ready()
        async with Client(own_cluster.connection) as client, reading(ConsoleClient(server, ANA)) as stream:
            await client.create(NAMESPACES, {"metadata": {"name": "team-c"}})
            own_cluster.faults.add(Match(plural="subjectaccessreviews"), Answer(403, "Forbidden"))
            await client.create(POD_GROUPS, {"metadata": {"name": "x"}, "spec": {"minMember": 1}}, namespace="team-c")
            await stream.until_end()


async def test_requests_of_one_person_delay_no_other(own_thread: ClusterThread, own_cluster: ApiServer) -> None:
    """The rights of one person take long to review; those of others do not."""
    with console_of(own_cluster, []) as server:
        await ConsoleClient(server).until_ready()
        held = Hold()
        own_cluster.faults.add(Match(plural="subjectaccessreviews"), held, times=4)
        requests = {asyncio.create_task(ConsoleClient(server, ANA).send("GET", "/api/overview")) for _ in range(33)}
        async with asyncio.timeout(30):
            [first], _ = await asyncio.wait(requests, return_when=asyncio.FIRST_COMPLETED)
            assert first.result()[0] == 429
            assert (await ConsoleClient(server, ROOT).get("/api/overview"))["waiting"] == 2
            own_thread.loop.call_soon_threadsafe(held.release)
            assert 429 not in [(await each)[0] for each in requests - {first}]
