"""Delays between attempts, and failures that are not retried."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stromboli.binding.evictions import Evictor
from stromboli.binding.orders import Outcome
from stromboli.binding.pod_binding import PodBinder
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.work.retry import RetryPolicy, is_retryable
from tests.unit.binding.scripted_client import (
    BROKEN,
    BUSY,
    CONFLICT,
    FORBIDDEN,
    GATEWAY,
    INVALID,
    LOST,
    PLACEMENT,
    VICTIM,
    ScriptedClient,
)

#: The Retry-After of the server, the number of the attempt, and the bounds of the delay. The maximum is 5 s.
DELAYS: dict[str, tuple[float | None, int, float, float]] = {
    "none, first attempt": (None, 0, 0.1, 0.1),
    "none, third attempt": (None, 2, 0.1, 0.9),
    "none, tenth attempt": (None, 9, 0.1, 5.0),
    "zero": (0.0, 0, 0.1, 0.1),
    "a second": (1.0, 0, 1.0, 1.2),
    "the maximum": (5.0, 0, 5.0, 5.0),
    "an hour": (3600.0, 0, 5.0, 5.0),
    "an hour, again": (3600.0, 4, 5.0, 5.0),
    "infinite": (float("inf"), 0, 5.0, 5.0),
}


@pytest.mark.parametrize(("retry_after", "attempt", "least", "most"), DELAYS.values(), ids=DELAYS)
def test_delay_honours_retry_after(retry_after: float | None, attempt: int, least: float, most: float) -> None:
    error = ApiError(429, "TooManyRequests", "later", retry_after=retry_after)
    delays = [RetryPolicy().delay(attempt, error) for _ in range(20)]
    assert min(delays) >= least
    assert max(delays) <= most


async def test_no_attempt_starts_after_the_limit() -> None:
    retry = RetryPolicy(attempts=100, min_delay=0.0, max_delay=0.0, limit=0.01)
    loop = asyncio.get_running_loop()
    attempt, began = 0, loop.time()
    while await retry.wait(attempt, BROKEN, began):
        attempt += 1
        await asyncio.sleep(0.001)
    assert attempt < 99
    assert loop.time() - began >= 0.01


@pytest.mark.parametrize(
    ("error", "expected"),
    [(BUSY, True), (BROKEN, True), (GATEWAY, True), (LOST, True), (INVALID, False), (FORBIDDEN, False)],
)
def test_only_transient_failures_are_retryable(error: RequestFailed, expected: bool) -> None:
    assert is_retryable(error) is expected


IMMEDIATE = RetryPolicy(attempts=5, min_delay=0.0, max_delay=0.0)


@pytest.mark.parametrize("answer", [BUSY, BROKEN, LOST], ids=["busy", "broken", "lost"])
async def test_bind_is_not_retried_without_leadership(answer: RequestFailed) -> None:
    client = ScriptedClient(bind=[answer, None])
    result = await PodBinder(client, retry=IMMEDIATE, is_leader=lambda: False).bind(PLACEMENT)  # type: ignore[arg-type]
    assert (result.outcome, client.asked) == (Outcome.UNKNOWN, ["bind"])


@pytest.mark.parametrize("verb", ["evict", "delete"])
@pytest.mark.parametrize("answer", [BUSY, BROKEN, LOST], ids=["busy", "broken", "lost"])
async def test_eviction_is_not_retried_without_leadership(answer: RequestFailed, verb: str) -> None:
    script: dict[str, list[Any]] = {verb: [answer, None], "get": [CONFLICT]}
    client = ScriptedClient(**script)
    evictor = Evictor(client, delete=verb == "delete", retry=IMMEDIATE, is_leader=lambda: False)  # type: ignore[arg-type]
    result = await evictor.evict(VICTIM)
    assert result.outcome is not Outcome.DONE
    assert client.asked.count(verb) == 1
