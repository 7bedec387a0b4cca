"""The limiter lowers the concurrency for an overloaded server, and raises it again."""

from __future__ import annotations

import asyncio

import pytest

from stromboli.binding.concurrency import ConcurrencyLimiter
from stromboli.binding.orders import DONE
from stromboli.binding.pod_binding import PodBinder
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.client.api_errors import ApiError, RequestFailed, Unreachable
from stromboli.kube.work.retry import RetryPolicy

BUSY = ApiError(429, "TooManyRequests", "busy")


async def slot(limiter: ConcurrencyLimiter, error: RequestFailed | None = None) -> None:
    async with limiter.slot():
        await asyncio.sleep(0)
        if error is not None:
            raise error


#: The response, and the limit after it, of 32.
ANSWERS: dict[str, tuple[RequestFailed | None, int]] = {
    "success": (None, 32),
    "too many requests": (BUSY, 16),
    "unavailable": (ApiError(503, "ServiceUnavailable", ""), 16),
    "no answer": (Unreachable("no answer in time", sent=True), 16),
    "a refusal for a reason": (ApiError(409, "Conflict", ""), 32),
    "nonsense": (ApiError(422, "Invalid", ""), 32),
}


@pytest.mark.parametrize(("error", "limit"), ANSWERS.values(), ids=ANSWERS)
async def test_limit_after_response(error: RequestFailed | None, limit: int) -> None:
    limiter = ConcurrencyLimiter(32)
    await asyncio.gather(slot(limiter, error), return_exceptions=True)
    assert limiter.limit == limit


async def test_simultaneous_failures_halve_the_limit_once_down_to_one() -> None:
    limiter = ConcurrencyLimiter(8)
    limits = []
    for _ in range(5):
        await asyncio.gather(*(slot(limiter, BUSY) for _ in range(limiter.limit)), return_exceptions=True)
        limits.append(limiter.limit)
    assert limits == [4, 2, 1, 1, 1]


async def test_limit_grows_by_one_after_a_round_of_successes() -> None:
    limiter = ConcurrencyLimiter(8)
    for _ in range(3):
        await asyncio.gather(slot(limiter, BUSY), return_exceptions=True)
    limits = []
    while limiter.limit < 8:
        limits.append(limiter.limit)
        for _ in range(limiter.limit + 1):
            await slot(limiter)
    assert limits == sorted(limits)
    assert set(limits) == set(range(1, 8))


async def test_cancelled_waiter_passes_its_slot_on() -> None:
    limiter = ConcurrencyLimiter(1)
    holding, entered = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with limiter.slot():
            entered.set()
            await holding.wait()

    first = asyncio.create_task(hold())
    await entered.wait()
    leaving, staying = asyncio.create_task(slot(limiter)), asyncio.create_task(slot(limiter))
    await asyncio.sleep(0)
    holding.set()
    await first
    leaving.cancel()
    await asyncio.wait_for(staying, 30)


class OverloadedClient:
    """Binds four pods at a time, and rejects requests beyond that."""

    def __init__(self) -> None:
        self.under_way = self.refused = self.bound = 0

    async def bind(self, namespace: str, name: str, uid: str, node: str, **facts: object) -> None:
        if self.under_way >= 4:
            self.refused += 1
            raise BUSY
        self.under_way += 1
        await asyncio.sleep(0.002)
        self.under_way -= 1
        self.bound += 1


async def test_limiter_adapts_to_an_overloaded_server() -> None:
    server = OverloadedClient()
    retry = RetryPolicy(attempts=50, min_delay=0.001, max_delay=0.01)
    binding = PodBinder(server, retry=retry, max_parallel=64)  # type: ignore[arg-type]
    orders = [Placement(f"uid-{index}", "default", f"pod-{index}", "default/job", "node") for index in range(300)]
    results = await asyncio.gather(*(binding.bind(order) for order in orders))
    assert results == [DONE] * 300
    assert binding.limiter.limit <= 8
    assert server.refused < 300, "it is not asked in vain for everything"
