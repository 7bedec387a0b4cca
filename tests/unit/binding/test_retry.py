"""How long something is left alone before it is tried again, and when it is not tried again."""

from __future__ import annotations

import asyncio

import pytest

from stromboli.binding.evictions import Evictor
from stromboli.binding.orders import Outcome
from stromboli.binding.pod_binding import PodBinder
from stromboli.binding.retry import RetryPolicy, is_retryable
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from tests.unit.binding.scripted_client import (
    BROKEN,
    BUSY,
    CONFLICT,
    FORBIDDEN,
    GATEWAY,
    INVALID,
    LOST,
    ORDER,
    VICTIM,
    Scripted,
)

#: What the server asks for, the number of the attempt, and the bounds of the pause. The longest one is 5 s.
PAUSES: dict[str, tuple[float | None, int, float, float]] = {
    "nothing, at first": (None, 0, 0.1, 0.1),
    "nothing, later": (None, 2, 0.1, 0.9),
    "nothing, in the end": (None, 9, 0.1, 5.0),
    "no pause": (0.0, 0, 0.1, 0.1),
    "a second": (1.0, 0, 1.0, 1.0),
    "the longest pause": (5.0, 0, 5.0, 5.0),
    "an hour": (3600.0, 0, 5.0, 5.0),
    "an hour, again": (3600.0, 4, 5.0, 5.0),
    "for ever": (float("inf"), 0, 5.0, 5.0),
}


@pytest.mark.parametrize(("asked", "attempt", "shortest", "longest"), PAUSES.values(), ids=PAUSES)
def test_delay_respects_retry_after(asked: float | None, attempt: int, shortest: float, longest: float) -> None:
    error = ApiError(429, "TooManyRequests", "later", retry_after=asked)
    pauses = [RetryPolicy().pause(attempt, error) for _ in range(20)]
    assert min(pauses) >= shortest
    assert max(pauses) <= longest


async def test_no_retry_after_the_time_limit() -> None:
    patience = RetryPolicy(attempts=100, shortest=0.0, longest=0.0, limit=0.01)
    loop = asyncio.get_running_loop()
    attempt, began = 0, loop.time()
    while await patience.wait(attempt, BROKEN, began):
        attempt += 1
        await asyncio.sleep(0.001)
    assert attempt < 99
    assert loop.time() - began >= 0.01


@pytest.mark.parametrize(
    ("error", "expected"),
    [(BUSY, True), (BROKEN, True), (GATEWAY, True), (LOST, True), (INVALID, False), (FORBIDDEN, False)],
)
def test_retryable_errors(error: RequestFailed, expected: bool) -> None:
    assert is_retryable(error) is expected


ASKED_AGAIN = RetryPolicy(attempts=5, shortest=0.0, longest=0.0)


@pytest.mark.parametrize("answer", [BUSY, BROKEN, LOST], ids=["busy", "broken", "lost"])
async def test_bind_is_not_retried_after_leadership_is_lost(answer: RequestFailed) -> None:
    client = Scripted(bind=[answer, None])
    result = await PodBinder(client, patience=ASKED_AGAIN, is_leader=lambda: False).bind(ORDER)  # type: ignore[arg-type]
    assert (result.outcome, client.asked) == (Outcome.UNKNOWN, ["bind"])


@pytest.mark.parametrize("verb", ["evict", "delete"])
@pytest.mark.parametrize("answer", [BUSY, BROKEN, LOST], ids=["busy", "broken", "lost"])
async def test_eviction_is_not_retried_after_leadership_is_lost(answer: RequestFailed, verb: str) -> None:
    client = Scripted(**{verb: [answer, None], "get": [CONFLICT]})
    evictor = Evictor(client, delete=verb == "delete", patience=ASKED_AGAIN, is_leader=lambda: False)  # type: ignore[arg-type]
    result = await evictor.evict(VICTIM)
    assert result.outcome is not Outcome.DONE
    assert client.asked.count(verb) == 1
