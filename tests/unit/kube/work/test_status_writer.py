"""The last desired status of an object is written, once, and never over newer data."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec
import pytest

from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.client.api_errors import ApiError, Unreachable
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import QUEUES
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.volcano import KubeQueue
from stromboli.kube.work.retry import RetryPolicy
from stromboli.kube.work.status_writer import DesiredStatus, StatusWriter
from tests.testing.kube.waiting import until

CONFLICT = ApiError(409, "Conflict", "the object has been modified")
MISSING = ApiError(404, "NotFound", "it is gone")
INVALID = ApiError(422, "Invalid", "no")
BROKEN = ApiError(500, "InternalError", "oops")
LOST = Unreachable("cut", sent=True)


def a_queue(version: int = 1, state: str = "") -> KubeQueue:
    queue = KubeQueue(metadata=ObjectMeta("q", "", "uid", resource_version=str(version)))
    queue.status.state = state or None
    return queue


class Server:
    """Has one queue; raises the given errors first and works afterwards."""

    def __init__(self, *errors: Exception) -> None:
        self.queue = a_queue()
        self.written: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self._errors = list(errors)

    async def patch(self, resource: Any, name: str, patch: Any, **facts: Any) -> KubeQueue:
        await self.gate.wait()
        if self._errors:
            raise self._errors.pop(0)
        self.written.append(patch["status"]["state"])
        version = int(self.queue.metadata.resource_version or 0) + 1
        self.queue = a_queue(version, patch["status"]["state"])
        return self.queue

    async def get(self, resource: Any, name: str, **facts: Any) -> KubeQueue:
        return self.queue


class Fixture:
    """A writer and its callbacks."""

    def __init__(self, server: Server) -> None:
        self.mirror = Ingest(Cluster())
        self.mirror.apply(a_queue())
        self.is_leader = True
        self.done: list[bool] = []
        self.failed = 0
        self.writer = StatusWriter(
            cast("Client", server),
            self.mirror,
            lambda: self.is_leader,
            workers=2,
            retry=RetryPolicy(attempts=3, min_delay=0.0, max_delay=0.0),
        )

    def desire(self, state: str) -> None:
        def make(queue: KubeQueue) -> dict[str, Any] | None:
            return None if queue.status.state == state else {"status": {"state": state}}

        self.writer.want(DesiredStatus(QUEUES, "q", make, done=self.done.append, failed=self._count))

    def _count(self) -> None:
        self.failed += 1


@asynccontextmanager
async def running_writer(server: Server) -> AsyncIterator[Fixture]:
    fixture = Fixture(server)
    task = asyncio.create_task(fixture.writer.run())
    try:
        yield fixture
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_last_of_many_statuses_of_one_object_is_written() -> None:
    server = Server()
    async with running_writer(server) as fixture:
        for number in range(10):
            fixture.desire(f"state-{number}")
        await until(lambda: not fixture.writer.waiting)
    assert server.written == ["state-9"]


async def test_status_desired_during_a_write_is_written_afterwards() -> None:
    server = Server()
    server.gate.clear()
    async with running_writer(server) as fixture:
        fixture.desire("first")
        await until(lambda: fixture.writer._queue.is_busy((QUEUES.name, "q")))
        fixture.desire("second")
        fixture.desire("third")
        server.gate.set()
        await until(lambda: not fixture.writer.waiting)
    assert server.written == ["first", "third"]


async def test_status_that_the_object_has_is_not_written() -> None:
    server = Server()
    async with running_writer(server) as fixture:
        fixture.mirror.apply(a_queue(2, "there"))
        fixture.desire("there")
        await until(lambda: fixture.done)
    assert (server.written, fixture.done, fixture.failed) == ([], [False], 0)


#: The responses, what is written, whether it was, and how often it was given up.
RESPONSES: dict[str, tuple[list[Exception], list[str], bool, int]] = {
    "written": ([], ["new"], True, 0),
    "written after a conflict": ([CONFLICT], ["new"], True, 0),
    "written after errors": ([BROKEN, LOST], ["new"], True, 0),
    "always a conflict": ([CONFLICT] * 9, [], False, 1),
    "always broken": ([BROKEN] * 9, [], False, 1),
    "found invalid": ([INVALID], [], False, 1),
    "about something that is gone": ([MISSING], [], False, 0),
    "an internal error": ([ValueError("internal")], [], False, 1),
}


@pytest.mark.parametrize(("errors", "written", "done", "failed"), RESPONSES.values(), ids=RESPONSES)
async def test_status_is(errors: list[Exception], written: list[str], done: bool, failed: int) -> None:
    server = Server(*errors)
    async with running_writer(server) as fixture:
        fixture.desire("new")
        await until(lambda: fixture.done)
    assert (server.written, fixture.done, fixture.failed) == (written, [done], failed)
    assert fixture.writer.failed == failed


async def test_patch_after_a_conflict_is_made_for_the_new_object() -> None:
    server = Server(CONFLICT)
    server.queue = a_queue(5, "new")
    async with running_writer(server) as fixture:
        fixture.desire("new")
        await until(lambda: fixture.done)
    assert (server.written, fixture.writer.conflicts) == ([], 1), "another client wrote the same status"


async def test_nothing_is_written_without_leadership() -> None:
    server = Server()
    async with running_writer(server) as fixture:
        fixture.is_leader = False
        fixture.desire("new")
        await until(lambda: fixture.done)
    assert (server.written, fixture.done) == ([], [False])


async def test_withdrawn_status_is_not_written() -> None:
    server = Server()
    fixture = Fixture(server)
    fixture.desire("new")
    fixture.writer.withdraw(QUEUES, "q")
    assert (fixture.writer.waiting, fixture.done) == (0, [False])
    assert msgspec.to_builtins(server.queue)["metadata"]["name"] == "q"
