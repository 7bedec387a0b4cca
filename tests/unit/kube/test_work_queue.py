"""Every key is looked at after its last change, by one worker at a time, and failures wait longer and longer."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from stromboli.kube.client.api_errors import ApiError, RequestFailed, Unreachable
from stromboli.kube.work.work_queue import WorkQueue


@contextlib.asynccontextmanager
async def running(queue: WorkQueue[str]) -> AsyncIterator[WorkQueue[str]]:
    task = asyncio.create_task(queue.run())
    try:
        yield queue
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0)


def recording(looks: list[str], gate: asyncio.Event | None = None) -> Callable[[str], Awaitable[float | None]]:
    async def look(key: str) -> None:
        looks.append(key)
        if gate is not None:
            await gate.wait()

    return look


async def test_a_key_that_waits_is_looked_at_once() -> None:
    looks: list[str] = []
    queue = WorkQueue[str](recording(looks), name="test", workers=1)
    for key in "abab":
        queue.add(key)
    async with running(queue):
        await until(lambda: queue.is_idle)
    assert looks == ["a", "b"]


async def test_a_key_that_changes_during_a_look_is_looked_at_once_more() -> None:
    looks: list[str] = []
    gate = asyncio.Event()
    async with running(WorkQueue[str](recording(looks, gate), name="test", workers=3)) as queue:
        queue.add("a")
        await until(lambda: looks == ["a"])
        queue.add("a")
        queue.add("a")
        queue.add("b")
        await until(lambda: looks == ["a", "b"])
        gate.set()
        await until(lambda: queue.is_idle)
    assert looks == ["a", "b", "a"]


async def test_failures_are_repeated_and_hurt_nobody_else() -> None:
    attempts = {"unreachable": 0, "mistaken": 0, "well": 0}

    async def look(key: str) -> None:
        attempts[key] += 1
        if key == "unreachable" and attempts[key] < 4:
            raise Unreachable("nobody there", sent=False)
        if key == "mistaken" and attempts[key] < 3:
            raise KeyError(key)

    queue = WorkQueue[str](look, name="test", workers=1, first_pause=0.001, longest_pause=0.002)
    async with running(queue):
        for key in attempts:
            queue.add(key)
        await until(lambda: queue.done == 3)
    assert attempts == {"unreachable": 4, "mistaken": 3, "well": 1}
    assert queue.failed == 5


async def test_the_earliest_time_wins() -> None:
    looks: list[str] = []
    async with running(WorkQueue[str](recording(looks), name="test")) as queue:
        queue.add_after("a", 60)
        queue.add_after("a", 0.001)
        queue.add_after("a", 60)
        await until(lambda: looks == ["a"])
        queue.add_after("b", 60)
        queue.add("b")
        await until(lambda: looks == ["a", "b"])
        queue.add_after("c", 60)
        queue.forget("c")
        assert queue.is_idle


async def test_a_look_may_ask_for_another() -> None:
    looks: list[str] = []

    async def look(key: str) -> float | None:
        looks.append(key)
        return 0.001 if len(looks) < 3 else None

    async with running(WorkQueue[str](look, name="test")) as queue:
        queue.add("a")
        await until(lambda: len(looks) == 3)
        await until(lambda: queue.is_idle)
    assert looks == ["a"] * 3


TOLD = [
    (
        "not allowed",
        ApiError(403, "Forbidden", "podgroups is forbidden"),
        ["test: a: 403 Forbidden: podgroups is forbidden"],
    ),
    ("makes no sense", ApiError(422, "Invalid", "spec.queue"), ["test: a: 422 Invalid: spec.queue"]),
    ("passes", ApiError(409, "Conflict", "changed"), []),
    ("no answer", Unreachable("refused", sent=False), []),
]


@pytest.mark.parametrize(("error", "words"), [case[1:] for case in TOLD], ids=[case[0] for case in TOLD])
async def test_what_waits_for_a_person_is_said_once(
    error: RequestFailed, words: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    failures = [error, error, error]

    async def look(key: str) -> None:
        if failures:
            raise failures.pop()

    async with running(WorkQueue[str](look, name="test", workers=1, first_pause=0.001)) as queue:
        queue.add("a")
        await until(lambda: queue.done == 1)
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == words
