"""A node is locked for one bind at a time, and locks expire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from stromboli.binding.steps.node_lock import EXPIRES_AFTER, NodeLock
from stromboli.binding.steps.step import StepFailed
from stromboli.core.model.devices.shared_devices import NODE_LOCK
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import NODES
from stromboli.local.api_server.server import ApiServer
from tests.unit.binding.scripted_client import FORBIDDEN, ScriptedClient

KEY = "volcano.sh/mutex.lock"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest_asyncio.fixture
async def client() -> AsyncIterator[Client]:
    async with ApiServer() as server, Client(server.connection) as client:
        await client.create(NODES, {"metadata": {"name": "a"}})
        yield client


def order(uid: str, key: str = KEY) -> Placement:
    return Placement(uid, "default", uid, "default/job", "a", {NODE_LOCK: key} if key else {})


def lock_step(client: Client, seconds: float = 0.0) -> NodeLock:
    return NodeLock(client, max_wait=0.0, wall_clock=lambda: NOW.timestamp() + seconds)


async def lock_of(client: Client) -> str | None:
    return ((await client.get(NODES, "a")).metadata.annotations or {}).get(KEY)


async def lock(client: Client, value: str | None) -> None:
    await client.patch(NODES, "a", {"metadata": {"annotations": {KEY: value}}})


async def test_node_is_locked_with_a_timestamp(client: Client) -> None:
    await lock_step(client).prepare(order("one"))
    assert await lock_of(client) == "2026-03-01T12:00:00Z"


async def test_pod_without_lock_annotation_is_not_locked(client: Client) -> None:
    await lock_step(client).prepare(order("one", ""))
    assert await lock_of(client) is None


async def test_second_pod_times_out_waiting_for_the_lock(client: Client) -> None:
    step = lock_step(client)
    await step.prepare(order("one"))
    with pytest.raises(StepFailed, match="node a has been locked for 0 s"):
        await step.prepare(order("two"))
    await step.undo(order("two"))
    assert await lock_of(client) == "2026-03-01T12:00:00Z", "who did not lock it does not unlock it"


async def test_second_pod_gets_the_lock_after_the_first_releases_it(client: Client) -> None:
    step = NodeLock(client, max_wait=30.0)
    await step.prepare(order("one"))
    waits = asyncio.ensure_future(step.prepare(order("two")))
    await lock(client, None)
    await waits
    assert await lock_of(client) is not None


async def test_two_concurrent_pods_do_not_both_get_the_lock(client: Client) -> None:
    steps = [lock_step(client) for _ in range(4)]
    results = await asyncio.gather(
        *(step.prepare(order(f"pod-{number}")) for number, step in enumerate(steps)), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in results) == ["NoneType", *["StepFailed"] * 3]


async def test_undo_unlocks_the_node(client: Client) -> None:
    step = lock_step(client)
    await step.prepare(order("one"))
    await step.undo(order("one"))
    assert await lock_of(client) is None
    await step.undo(order("one"))


async def test_lock_of_another_pod_is_kept(client: Client) -> None:
    step = lock_step(client)
    await step.prepare(order("one"))
    await lock(client, "2026-03-01T12:00:07Z")
    await step.undo(order("one"))
    assert await lock_of(client) == "2026-03-01T12:00:07Z"


async def test_deleted_node_is_not_unlocked(client: Client) -> None:
    step = lock_step(client)
    await step.prepare(order("one"))
    await client.delete(NODES, "a")
    await step.undo(order("one"))


@pytest.mark.parametrize(
    ("value", "is_void"),
    [
        ("2026-03-01T12:00:00Z", False),
        ("2026-03-01T11:55:01Z", False),
        ("2026-03-01T11:54:59Z", True),
        ("2026-03-01T13:00:00+01:00", False),
        ("2026-03-01T12:00:00Z,default,pod", False),
        ("2026-03-01T12:00:00", False),
        ("yesterday", True),
    ],
)
async def test_lock_expires_or_is_unreadable(client: Client, value: str, is_void: bool) -> None:
    await lock(client, value)
    if is_void:
        await lock_step(client).prepare(order("one"))
        assert await lock_of(client) == "2026-03-01T12:00:00Z"
    else:
        with pytest.raises(StepFailed):
            await lock_step(client).prepare(order("one"))


async def test_expired_locks_are_dropped(client: Client) -> None:
    seconds = [0.0]
    step = NodeLock(client, max_wait=0.0, wall_clock=lambda: NOW.timestamp() + seconds[0])
    await step.prepare(order("one"))
    seconds[0] = EXPIRES_AFTER + 1
    await step.prepare(order("two"))
    assert list(step._held) == ["two"]


async def test_forbidden_lock_reports_the_missing_permission() -> None:
    client = ScriptedClient(get=[FORBIDDEN])
    with pytest.raises(StepFailed, match="node a cannot be locked: you may not; allow the scheduler to get and patch"):
        await NodeLock(client).prepare(order("one"))  # type: ignore[arg-type]
