"""Every key is processed after its last change, by one worker at a time; failures are retried with growing delays."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import pytest

from stromboli.kube.client.api_errors import ApiError, RequestFailed, Unreachable
from stromboli.kube.work.retry import RetryPolicy
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


def recording(processed: list[str], gate: asyncio.Event | None = None) -> Callable[[str], Awaitable[float | None]]:
    async def handle(key: str) -> None:
        processed.append(key)
        if gate is not None:
            await gate.wait()

    return handle


async def test_key_added_repeatedly_is_processed_once() -> None:
    processed: list[str] = []
    queue = WorkQueue[str](recording(processed), name="test", workers=1)
    for key in "abab":
        queue.add(key)
    async with running(queue):
        await until(lambda: queue.is_idle)
    assert processed == ["a", "b"]


async def test_key_that_changes_while_processed_is_processed_once_more() -> None:
    processed: list[str] = []
    gate = asyncio.Event()
    async with running(WorkQueue[str](recording(processed, gate), name="test", workers=3)) as queue:
        queue.add("a")
        await until(lambda: processed == ["a"])
        queue.add("a")
        queue.add("a")
        queue.add("b")
        await until(lambda: processed == ["a", "b"])
        gate.set()
        await until(lambda: queue.is_idle)
    assert processed == ["a", "b", "a"]


async def test_failed_keys_are_retried_and_do_not_affect_others() -> None:
    attempts = {"unreachable": 0, "raising": 0, "well": 0}

    async def handle(key: str) -> None:
        attempts[key] += 1
        if key == "unreachable" and attempts[key] < 4:
            raise Unreachable("connection refused", sent=False)
        if key == "raising" and attempts[key] < 3:
            raise KeyError(key)

    queue = WorkQueue[str](
        handle, name="test", workers=1, retry=RetryPolicy(min_delay=0.001, max_delay=0.002, jitter=False)
    )
    async with running(queue):
        for key in attempts:
            queue.add(key)
        await until(lambda: queue.done == 3)
    assert attempts == {"unreachable": 4, "raising": 3, "well": 1}
    assert queue.failed == 5


async def test_earliest_due_time_wins() -> None:
    processed: list[str] = []
    async with running(WorkQueue[str](recording(processed), name="test")) as queue:
        queue.add_after("a", 60)
        queue.add_after("a", 0.001)
        queue.add_after("a", 60)
        await until(lambda: processed == ["a"])
        queue.add_after("b", 60)
        queue.add("b")
        await until(lambda: processed == ["a", "b"])
        queue.add_after("c", 60)
        queue.forget("c")
        assert queue.is_idle


async def test_handler_may_return_a_delay() -> None:
    processed: list[str] = []

    async def handle(key: str) -> float | None:
        processed.append(key)
        return 0.001 if len(processed) < 3 else None

    async with running(WorkQueue[str](handle, name="test")) as queue:
        queue.add("a")
        await until(lambda: len(processed) == 3)
        await until(lambda: queue.is_idle)
    assert processed == ["a"] * 3


LOGGED = [
    (
        "forbidden",
        ApiError(403, "Forbidden", "podgroups is forbidden"),
        ["403 Forbidden: podgroups is forbidden"],
    ),
    ("invalid", ApiError(422, "Invalid", "spec.queue"), ["422 Invalid: spec.queue"]),
    ("conflict", ApiError(409, "Conflict", "changed"), []),
    ("unreachable", Unreachable("refused", sent=False), []),
]


@pytest.mark.parametrize(("error", "logged"), [case[1:] for case in LOGGED], ids=[case[0] for case in LOGGED])
async def test_failure_that_needs_intervention_is_logged_once(
    error: RequestFailed, logged: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    failures = [error, error, error]

    async def handle(key: str) -> None:
        if failures:
            raise failures.pop()

    async with running(
        WorkQueue[str](handle, name="test", workers=1, retry=RetryPolicy(min_delay=0.001, max_delay=0.01))
    ) as queue:
        queue.add("a")
        await until(lambda: queue.done == 1)
    warnings = [vars(record)["error"] for record in caplog.records if record.levelno >= logging.WARNING]
    assert warnings == logged


async def test_select_postpones_keys_until_it_returns_one() -> None:
    processed: list[str] = []
    allowed: set[str] = set()

    def select(waiting: Iterable[str]) -> str | None:
        return next((key for key in waiting if key in allowed), None)

    async with running(WorkQueue[str](recording(processed), name="test", select=select)) as queue:
        queue.add("a")
        queue.add("b")
        allowed.add("b")
        await until(lambda: processed == ["b"])
        assert (queue.waiting, queue.pending) == (1, 1)
        allowed.add("a")
        await until(lambda: queue.is_idle)
    assert processed == ["b", "a"]


async def test_flush_processes_delayed_keys_without_workers() -> None:
    processed: list[str] = []
    queue = WorkQueue[str](recording(processed), name="test")
    queue.add_after("a", 60)
    queue.add("b")
    assert queue.pending == 2
    await queue.flush()
    assert (sorted(processed), queue.pending) == (["a", "b"], 0)


async def test_cancelled_run_is_repeated() -> None:
    processed: list[str] = []
    gate = asyncio.Event()
    queue = WorkQueue[str](recording(processed, gate), name="test", workers=1)
    async with running(queue):
        queue.add("a")
        await until(lambda: processed == ["a"])
    gate.set()
    await queue.flush()
    assert processed == ["a", "a"]
