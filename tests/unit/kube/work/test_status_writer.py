"""Wishes about objects: the last one counts, once, and never against something newer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec
import pytest

from stromboli.binding.retry import RetryPolicy
from stromboli.cluster.ingest.ingest import Mirror
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.client.api_errors import ApiError, Unreachable
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import QUEUES
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.volcano import KubeQueue
from stromboli.kube.work.status_writer import StatusWriter, Wish
from tests.testing.kube.waiting import until

CONFLICT = ApiError(409, "Conflict", "somebody else wrote")
MISSING = ApiError(404, "NotFound", "it is gone")
INVALID = ApiError(422, "Invalid", "no")
BROKEN = ApiError(500, "InternalError", "oops")
LOST = Unreachable("cut", sent=True)


def a_queue(version: int = 1, state: str = "") -> KubeQueue:
    queue = KubeQueue(metadata=ObjectMeta("q", "", "uid", resource_version=str(version)))
    queue.status.state = state or None
    return queue


class Server:
    """Has one queue; answers with what it was told first, and does what it is asked afterwards."""

    def __init__(self, *answers: Exception) -> None:
        self.queue = a_queue()
        self.written: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self._answers = list(answers)

    async def patch(self, resource: Any, name: str, patch: Any, **facts: Any) -> KubeQueue:
        await self.gate.wait()
        if self._answers:
            raise self._answers.pop(0)
        self.written.append(patch["status"]["state"])
        version = int(self.queue.metadata.resource_version or 0) + 1
        self.queue = a_queue(version, patch["status"]["state"])
        return self.queue

    async def get(self, resource: Any, name: str, **facts: Any) -> KubeQueue:
        return self.queue


class Desk:
    """A writer, and what it told."""

    def __init__(self, server: Server) -> None:
        self.mirror = Mirror(Cluster())
        self.mirror.apply(a_queue())
        self.in_charge = True
        self.problems: list[str] = []
        self.done: list[bool] = []
        self.failed = 0
        self.writer = StatusWriter(
            cast("Client", server),
            self.mirror,
            lambda: self.in_charge,
            lambda what, problem: self.problems.append(problem),
            workers=2,
            patience=RetryPolicy(attempts=3, shortest=0.0, longest=0.0),
        )

    def wish(self, state: str) -> None:
        def make(queue: KubeQueue) -> dict[str, Any] | None:
            return None if queue.status.state == state else {"status": {"state": state}}

        self.writer.want(Wish(QUEUES, "q", make, done=self.done.append, failed=self._count))

    def _count(self) -> None:
        self.failed += 1


@asynccontextmanager
async def desk(server: Server) -> AsyncIterator[Desk]:
    found = Desk(server)
    task = asyncio.create_task(found.writer.run())
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_of_many_wishes_about_one_object_the_last_is_written() -> None:
    server = Server()
    async with desk(server) as found:
        for number in range(10):
            found.wish(f"state-{number}")
        await until(lambda: not found.writer.waiting)
    assert server.written == ["state-9"]


async def test_a_wish_that_comes_while_another_is_written_is_written_afterwards() -> None:
    server = Server()
    server.gate.clear()
    async with desk(server) as found:
        found.wish("first")
        await until(lambda: found.writer._under_way)
        found.wish("second")
        found.wish("third")
        server.gate.set()
        await until(lambda: not found.writer.waiting)
    assert server.written == ["first", "third"]


async def test_a_wish_that_has_come_true_is_not_written() -> None:
    server = Server()
    async with desk(server) as found:
        found.mirror.apply(a_queue(2, "there"))
        found.wish("there")
        await until(lambda: found.done)
    assert (server.written, found.done, found.failed) == ([], [False], 0)


#: The answers, what is written, whether it was, and how often it was given up.
ANSWERS: dict[str, tuple[list[Exception], list[str], bool, int]] = {
    "written": ([], ["new"], True, 0),
    "written after a conflict": ([CONFLICT], ["new"], True, 0),
    "written after errors": ([BROKEN, LOST], ["new"], True, 0),
    "always a conflict": ([CONFLICT] * 9, [], False, 1),
    "always broken": ([BROKEN] * 9, [], False, 1),
    "found invalid": ([INVALID], [], False, 1),
    "about something that is gone": ([MISSING], [], False, 0),
    "a mistake of ours": ([ValueError("a mistake")], [], False, 1),
}


@pytest.mark.parametrize(("answers", "written", "done", "failed"), ANSWERS.values(), ids=ANSWERS)
async def test_a_wish_is(answers: list[Exception], written: list[str], done: bool, failed: int) -> None:
    server = Server(*answers)
    async with desk(server) as found:
        found.wish("new")
        await until(lambda: found.done)
    assert (server.written, found.done, found.failed) == (written, [done], failed)
    assert len(found.problems) == failed


async def test_after_a_conflict_the_patch_is_made_for_what_stands_there_then() -> None:
    server = Server(CONFLICT)
    server.queue = a_queue(5, "new")
    async with desk(server) as found:
        found.wish("new")
        await until(lambda: found.done)
    assert (server.written, found.writer.conflicts) == ([], 1), "somebody else wrote just that"


async def test_who_is_not_in_charge_writes_nothing() -> None:
    server = Server()
    async with desk(server) as found:
        found.in_charge = False
        found.wish("new")
        await until(lambda: found.done)
    assert (server.written, found.done) == ([], [False])


async def test_a_wish_that_is_withdrawn_is_done_with() -> None:
    server = Server()
    found = Desk(server)
    found.wish("new")
    found.writer.withdraw(QUEUES, "q")
    assert (found.writer.waiting, found.done) == (0, [False])
    assert msgspec.to_builtins(server.queue)["metadata"]["name"] == "q"
