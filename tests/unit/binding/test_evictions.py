"""The meaning of every response to an eviction."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stromboli.binding.evictions import Evictor, EvictWorkers
from stromboli.binding.orders import EvictOrder, Outcome, Result
from stromboli.kube.client.api_errors import ApiError
from tests.testing.kube.waiting import until
from tests.unit.binding.scripted_client import (
    BROKEN,
    CONFLICT,
    FORBIDDEN,
    LOST,
    MISSING,
    NO_DELAY,
    VICTIM,
    Observer,
    ScriptedClient,
    found,
)

DONE, IMPOSSIBLE, UNKNOWN = Outcome.DONE, Outcome.IMPOSSIBLE, Outcome.UNKNOWN
THROTTLED = ApiError(429, "TooManyRequests", "too many requests")
BUDGET = ApiError(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.")
TWO_BUDGETS = ApiError(500, "InternalError", "This pod has more than one PodDisruptionBudget, which is not supported.")
HERE, LEAVING = found("node-a"), found("node-a", deleted="2020-01-01T00:00:00Z")

#: The responses, the pod as read, the outcome, a part of the message, and the number of attempts.
ANSWERS: dict[str, tuple[list[Any], Any, Outcome, str, int]] = {
    "gone": ([None], None, DONE, "", 1),
    "gone before": ([MISSING], MISSING, DONE, "", 1),
    "another pod of that name": ([CONFLICT], found("node-a", "uid-2"), DONE, "", 1),
    "a conflict about the pod that is there": ([CONFLICT], HERE, IMPOSSIBLE, "it cannot be bound", 1),
    "forbidden": ([FORBIDDEN], HERE, IMPOSSIBLE, "you may not", 1),
    "a budget that is used up for a moment": ([BUDGET, None], None, DONE, "", 2),
    "a budget that is used up": ([BUDGET], HERE, IMPOSSIBLE, "a disruption budget protects the pod", 3),
    "a busy server": ([THROTTLED], HERE, IMPOSSIBLE, "the API server is busy", 3),
    "two budgets": ([TWO_BUDGETS], HERE, IMPOSSIBLE, "more than one PodDisruptionBudget", 1),
    "broken, then gone": ([BROKEN, None], None, DONE, "", 2),
    "always broken": ([BROKEN], HERE, UNKNOWN, "oops", 3),
    "always broken, and going": ([BROKEN], LEAVING, DONE, "", 3),
    "lost, and gone": ([LOST], MISSING, DONE, "", 3),
    "lost, and the pod cannot be read": ([LOST], BROKEN, UNKNOWN, "cut", 3),
}


@pytest.mark.parametrize("verb", ["evict", "delete"])
@pytest.mark.parametrize(("answers", "pod", "outcome", "message", "times"), ANSWERS.values(), ids=ANSWERS)
async def test_an_answer_means(
    answers: list[Any], pod: Any, outcome: Outcome, message: str, times: int, verb: str
) -> None:
    client = ScriptedClient(**{verb: [*answers], "get": [pod]})
    evictor = Evictor(client, delete=verb == "delete", retry=NO_DELAY)  # type: ignore[arg-type]
    result = await evictor.evict(VICTIM)
    assert (result.outcome, client.asked.count(verb)) == (outcome, times)
    assert message in result.problem


class RaisingEvictor:
    async def evict(self, order: EvictOrder) -> Result:
        raise RuntimeError("a mistake")


async def test_workers_report_the_result_of_every_order() -> None:
    observer = Observer()
    workers = EvictWorkers(RaisingEvictor(), observer, workers=1)  # type: ignore[arg-type]
    running = asyncio.create_task(workers.run())
    workers.submit(VICTIM)
    await until(lambda: observer.evictions)
    assert observer.evictions["pod"] == Result(UNKNOWN, "RuntimeError: a mistake")
    observer.leads = False
    workers.submit(VICTIM)
    await until(lambda: observer.evictions["pod"].outcome is Outcome.DROPPED)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


class Held:
    """Evicts no pod before `go` is set."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go = asyncio.Event()

    async def evict(self, order: EvictOrder) -> Result:
        self.begun.append(order.name)
        await self.go.wait()
        return Result(DONE)


async def test_stopping_finishes_started_work_and_drops_the_rest() -> None:
    observer, held = Observer(), Held()
    workers = EvictWorkers(held, observer, workers=1)  # type: ignore[arg-type]
    running = asyncio.create_task(workers.run())
    for name in "abc":
        workers.submit(EvictOrder(f"uid-{name}", "default", name, "default/job", "preempt"))
    await until(lambda: held.begun)
    assert workers.waiting == 3, "what is under way is not settled yet"
    assert await workers.drain(0.01) == 3
    held.go.set()
    assert await workers.drain(5.0) == 0
    outcomes = {name: result.outcome for name, result in observer.evictions.items()}
    assert outcomes == {"a": DONE, "b": Outcome.DROPPED, "c": Outcome.DROPPED}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
