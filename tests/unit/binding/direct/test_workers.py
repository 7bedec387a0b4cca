"""Commits are bound whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from stromboli.binding.direct.workers import BindWorkers
from stromboli.binding.orders import DONE, Commit, Outcome, Result
from stromboli.binding.pod_binding import PodBinder
from stromboli.core.model.tasks.placement import Placement
from tests.testing.kube.waiting import until
from tests.unit.binding.scripted_client import NO_DELAY, Observer, ScriptedClient


def commit(*names: str, minimum: int | None = None, bound: int = 0) -> Commit:
    members = tuple(Placement(f"uid-{name}", "default", name, "default/job", "node-a") for name in names)
    return Commit("default/job", members, len(names) if minimum is None else minimum, bound)


@asynccontextmanager
async def working(binding: object, observer: Observer, workers: int = 1, batch: int = 1) -> AsyncIterator[BindWorkers]:
    crew = BindWorkers(binding, observer, workers=workers, batch=batch)  # type: ignore[arg-type]
    task = asyncio.create_task(crew.run())
    try:
        yield crew
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def binding(client: ScriptedClient) -> PodBinder:
    return PodBinder(client, retry=NO_DELAY)  # type: ignore[arg-type]


#: The commit, the pods with a precondition error, and the pods that are bound.
JUDGEMENTS = {
    "no precondition error": (commit("a", "b", "c"), "", "abc"),
    "one of a whole gang": (commit("a", "b", "c"), "b", ""),
    "the last one of a whole gang": (commit("a", "b", "c"), "c", ""),
    "one of a gang that needs two": (commit("a", "b", "c", minimum=2), "b", "ac"),
    "two of a gang that needs two": (commit("a", "b", "c", minimum=2), "bc", ""),
    "one of a gang that has its minimum": (commit("a", "b", "c", minimum=5, bound=5), "b", "ac"),
    "one of a gang that lacks one": (commit("a", "b", "c", minimum=3, bound=2), "ab", "c"),
    "a pod alone": (commit("a", minimum=0), "a", ""),
}


@pytest.mark.parametrize("batch", [1, 2, 8])
@pytest.mark.parametrize(("given", "precondition_errors", "expected"), JUDGEMENTS.values(), ids=JUDGEMENTS)
async def test_precondition_errors_before_the_first_bind(
    given: Commit, precondition_errors: str, expected: str, batch: int
) -> None:
    observer, client = Observer(**dict.fromkeys(precondition_errors, "the node is gone")), ScriptedClient()
    async with working(binding(client), observer, batch=batch) as crew:
        crew.submit(given)
        await until(lambda: observer.commits)
    assert "".join(client.bound) == expected
    assert {name: result.outcome is Outcome.DONE for name, result in observer.results.items()} == {
        placement.name: placement.name in expected for placement in given.members
    }
    if precondition_errors and not expected and len(given.members) > 1:
        reported = {result.problem for name, result in observer.results.items() if name not in precondition_errors}
        assert reported <= {"another member of the gang cannot be bound: the node is gone"}


class Held:
    """Binds no pod before `go` is set."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go = asyncio.Event()

    async def bind(self, placement: Placement) -> Result:
        self.begun.append(placement.name)
        await self.go.wait()
        return DONE


async def test_stopping_finishes_started_work_and_drops_the_rest() -> None:
    observer, held = Observer(), Held()
    async with working(held, observer) as crew:
        crew.submit(commit("a", "b"))
        crew.submit(commit("c", "d"))
        await until(lambda: held.begun)
        assert await crew.drain(0.01) == 4
        held.go.set()
        assert await crew.drain(5.0) == 0
    outcomes = {name: result.outcome for name, result in observer.results.items()}
    assert outcomes == {"a": Outcome.DONE, "b": Outcome.DONE, "c": Outcome.DROPPED, "d": Outcome.DROPPED}


async def test_former_leader_binds_no_pod() -> None:
    observer, held = Observer(), Held()
    async with working(held, observer) as crew:
        crew.submit(commit("a", "b"))
        await until(lambda: held.begun)
        observer.leads = False
        held.go.set()
        await until(lambda: observer.commits)
    assert observer.results["b"].outcome is Outcome.DROPPED


async def test_number_of_parallel_binds_is_limited() -> None:
    observer, held = Observer(), Held()
    async with working(held, observer, workers=3) as crew:
        crew.submit(commit(*"abcdefgh"))
        await until(lambda: len(held.begun) == 3)
        assert crew.waiting == 8
        held.go.set()
        await until(lambda: not crew.waiting)
    assert len(observer.results) == 8


async def test_internal_error_leaves_the_outcome_unknown() -> None:
    class Mistaken:
        async def bind(self, placement: Placement) -> Result:
            raise KeyError("a mistake")

    observer = Observer()
    async with working(Mistaken(), observer) as crew:
        crew.submit(commit("a"))
        await until(lambda: observer.commits)
    assert observer.results["a"].outcome is Outcome.UNKNOWN
