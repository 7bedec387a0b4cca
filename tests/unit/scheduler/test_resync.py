"""Callbacks of a pod lookup get the current state of the pod with this uid."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.pod import Pod
from stromboli.kube.work.retry import RetryPolicy
from stromboli.scheduler.resync import Resync
from tests.testing.kube.waiting import running, until
from tests.unit.binding.scripted_client import BROKEN, LOST, MISSING, ScriptedClient, found

NO_DELAY = RetryPolicy(min_delay=0.0, max_delay=0.0)
THERE = found("node-a")

#: Answers of the server, and the result.
ANSWERS: dict[str, tuple[list[Any], Pod | None]] = {
    "there": ([THERE], THERE),
    "gone": ([MISSING], None),
    "another pod of that name": ([found("node-a", "uid-2")], None),
    "timeout, then found": ([LOST, BROKEN, THERE], THERE),
    "overloaded, then found": ([ApiError(429, "TooManyRequests", "later", retry_after=3600.0), THERE], THERE),
}


@pytest.mark.parametrize(("answers", "expected"), ANSWERS.values(), ids=ANSWERS)
async def test_lookup_retries_until_the_outcome_is_known(answers: list[Any], expected: Pod | None) -> None:
    client, learned = ScriptedClient(get=[*answers]), list[Pod | None]()
    resync = Resync(client, retry=NO_DELAY)  # type: ignore[arg-type]
    resync.ask("default", "pod", "uid-1", learned.append)
    async with running(resync.run()):
        await until(lambda: learned)
    assert (learned, resync.waiting, resync.asked) == ([expected], 0, len(answers))


async def test_one_lookup_serves_all_callbacks() -> None:
    client, scenario = ScriptedClient(get=[THERE]), list[str]()
    resync = Resync(client, retry=NO_DELAY)  # type: ignore[arg-type]
    resync.ask("default", "pod", "uid-1", lambda pod: scenario.append("the bind"))
    resync.ask("default", "pod", "uid-1", lambda pod: scenario.append("the eviction"))
    assert resync.waiting == 1
    async with running(resync.run()):
        assert await resync.settle(5.0) == 0
    assert (scenario, client.asked) == (["the bind", "the eviction"], ["get"])


async def test_callback_added_during_the_lookup_is_called() -> None:
    scenario, go = list[str](), asyncio.Event()

    class Slow:
        async def get(self, *arguments: Any, **facts: Any) -> Pod:
            scenario.append("asked")
            await go.wait()
            return THERE

    resync = Resync(Slow(), retry=NO_DELAY)  # type: ignore[arg-type]
    resync.ask("default", "pod", "uid-1", lambda pod: scenario.append("the bind"))
    async with running(resync.run()):
        await until(lambda: scenario)
        resync.ask("default", "pod", "uid-1", lambda pod: scenario.append("the eviction"))
        go.set()
        assert await resync.settle(5.0) == 0
    assert scenario == ["asked", "the bind", "the eviction"]


async def test_settle_returns_open_lookups_after_the_timeout() -> None:
    resync = Resync(ScriptedClient(get=[LOST]), retry=NO_DELAY)  # type: ignore[arg-type]
    resync.ask("default", "pod", "uid-1", lambda pod: None)
    resync.ask("default", "other", "uid-2", lambda pod: None)
    async with running(resync.run()):
        assert await resync.settle(0.01) == 2
