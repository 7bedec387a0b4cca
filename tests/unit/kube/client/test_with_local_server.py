"""The client, a reflector, an election and a recorder with the local API server, over HTTPS."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.election.elector import LeaderElector
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects.catalogue import EVENTS, LEASES, NODES, PODS
from stromboli.kube.objects.event import ObjectReference
from stromboli.kube.watch.reflector import Reflector
from stromboli.kube.work.retry import RetryPolicy
from stromboli.local.api_server.faults import (
    Answer,
    CutConnection,
    CutWatch,
    Duplicate,
    ExpireWatch,
    Garble,
    HangWatch,
    Match,
    Reorder,
)
from stromboli.local.api_server.server import ApiServer
from tests.testing.kube.sinks import RecordingSink
from tests.testing.kube.waiting import running, until


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        yield server


@pytest.fixture
async def client(server: ApiServer) -> AsyncIterator[Client]:
    async with Client(server.connection) as client:
        yield client


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "x"}]}}


async def test_watch_follows_life_of_pod(server: ApiServer, client: Client) -> None:
    await client.create(NODES, {"metadata": {"name": "n1"}})
    reflector = Reflector(client, PODS, sink := RecordingSink(), retry=RetryPolicy(min_delay=0.01, max_delay=0.05))
    async with running(reflector.run()):
        await asyncio.wait_for(reflector.synced.wait(), 30)
        created = await client.create(PODS, pod("a"))
        await client.bind("default", "a", created.metadata.uid, "n1", annotations={"gpu": "0"})
        await until(lambda: sink.calls_text == "+a +a")
        found = await client.get(PODS, "a")
        assert (found.spec.node_name, found.metadata.annotations) == ("n1", {"gpu": "0"})
        with pytest.raises(ApiError) as caught:
            await client.bind("default", "a", created.metadata.uid, "n2")
        assert caught.value.is_conflict
        server.drop_watches()
        await client.delete(PODS, "a", uid=created.metadata.uid, grace_period=0)
        await until(lambda: sink.calls_text == "+a +a +a -a", lambda: sink.calls_text)
        server.drop_watches()
        await client.create(PODS, pod("b"))
        server.compact()
        await until(lambda: list(sink.entries) == ["default/b"], lambda: sink.calls_text)
        listing = await client.list(PODS)
        assert {entry.key: entry.metadata.resource_version for entry in listing.items} == sink.versions


WATCH_FAULTS = [
    CutWatch(),
    ExpireWatch(),
    HangWatch(),
    Duplicate(),
    Reorder(3),
    CutConnection(),
    Garble(),
    Answer(429, "TooManyRequests", retry_after=1),
    Answer(500, "InternalError"),
]


@pytest.mark.parametrize("fault", WATCH_FAULTS, ids=lambda fault: type(fault).__name__)
async def test_watch_converges_despite_faults(fault: Any, server: ApiServer, client: Client) -> None:
    injected = server.faults.add(Match(verb="watch", plural="pods"), fault)
    reflector = Reflector(
        client, PODS, sink := RecordingSink(), idle_seconds=0.3, retry=RetryPolicy(min_delay=0.01, max_delay=0.05)
    )
    async with running(reflector.run()):
        for name in "abcdef":
            created = await client.create(PODS, pod(name))
            await client.bind("default", name, created.metadata.uid, "n1")
        for name in "ace":
            await client.delete(PODS, name, grace_period=0)
        await until(lambda: injected.fired)
        listing = await client.list(PODS)
        wanted = {entry.key: entry.metadata.resource_version for entry in listing.items}
        await until(lambda: sink.versions == wanted, lambda: (sink.versions, wanted))
        assert reflector.handler_failures == 0


async def test_kubeconfig_of_server(server: ApiServer, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(server.kubeconfig())
    async with Client(load_kubeconfig(str(path))) as client:
        assert (await client.list(NODES)).items == []


async def test_leader_election_hands_over(client: Client) -> None:
    one, two = (
        LeaderElector(client, name="stromboli", namespace="kube-system", identity=name, retry_period=0.01)
        for name in ("one", "two")
    )
    await one.acquire()
    async with running(two.acquire()):
        async with running(one.keep()):
            await until(lambda: two.leader == "one")
        await one.release()
        await until(lambda: two.is_leading)
    lease = await client.get(LEASES, "stromboli", namespace="kube-system")
    assert (lease.spec.holder_identity, lease.spec.lease_transitions, two.epoch) == ("two", 1, 1)


async def test_events_are_counted(client: Client) -> None:
    created = await client.create(PODS, pod("a"))
    recorder = EventRecorder(client, "stromboli")
    regarding = ObjectReference("v1", "Pod", "default", "a", created.metadata.uid)
    for _ in range(2):
        recorder.record(regarding, type="Warning", reason="FailedScheduling", note="0/0 nodes are available")
        assert await recorder.flush(5)
    [event] = (await client.list(EVENTS)).items
    assert (event.message, event.involved_object.uid) == ("0/0 nodes are available", created.metadata.uid)
    assert (event.count, recorder.dropped) == (2, 0)
