"""Members of a commit are prepared, all of them before the first is bound."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from stromboli.binding.direct.workers import BindWorkers
from stromboli.binding.orders import Commit, Outcome
from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.binding.pod_binding import PodBinder
from stromboli.binding.steps.step import StepFailed
from stromboli.core.model.tasks.placement import Placement
from tests.testing.kube.waiting import until
from tests.unit.binding.scripted_client import INVALID, LOST, NO_DELAY, Observer, ScriptedClient


class SlowPlugin(BinderPlugin):
    """Applies to pods with upper-case names: preparation waits for the gate, and some pods fail."""

    name = "slow"

    def __init__(self, calls: list[str], failing: str = "", sticky: str = "") -> None:
        super().__init__()
        self._calls = calls
        self._failing = failing
        self._sticky = sticky
        self.gate = asyncio.Event()
        self.gate.set()

    def applies_to(self, placement: Placement) -> bool:
        return placement.name.isupper()

    async def pre_bind(self, placement: Placement) -> None:
        self._calls.append(f"+{placement.name}")
        if placement.name in self._failing:
            raise StepFailed("there is no volume")
        await self.gate.wait()

    async def rollback(self, placement: Placement) -> None:
        self._calls.append(f"-{placement.name}")
        if placement.name in self._sticky:
            raise StepFailed("it sticks")

    async def post_bind(self, placement: Placement) -> None:
        self._calls.append(f"={placement.name}")

    def forget(self, placement: Placement) -> None:
        self._calls.append(f"?{placement.name}")


class RecordingClient(ScriptedClient):
    """Records binds in the same list."""

    def __init__(self, calls: list[str], **answers: list[object]) -> None:
        super().__init__(**answers)
        self._calls = calls

    async def bind(self, namespace: str, name: str, uid: str, node: str, **facts: object) -> None:
        await super().bind(namespace, name, uid, node, **facts)
        self._calls.append(f"bind {name}")


def commit(names: str, minimum: int | None = None, bound: int = 0) -> Commit:
    members = tuple(Placement(f"uid-{name}", "default", name, "default/job", "node-a") for name in names)
    return Commit("default/job", members, len(names) if minimum is None else minimum, bound)


@asynccontextmanager
async def working(
    client: ScriptedClient, observer: Observer, plugin: SlowPlugin, workers: int = 1
) -> AsyncIterator[BindWorkers]:
    binding = PodBinder(client, retry=NO_DELAY)  # type: ignore[arg-type]
    crew = BindWorkers(binding, observer, workers=workers, plugins=[plugin])
    task = asyncio.create_task(crew.run())
    try:
        yield crew
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


#: The commit, the pods that cannot be prepared, and the pods that are bound.
PREPARATIONS = {
    "all are ready": (commit("ABC"), "", "ABC"),
    "some need nothing": (commit("AbC"), "", "AbC"),
    "one of a whole gang is not": (commit("ABC"), "B", ""),
    "one is not, and another needs nothing": (commit("aB"), "B", ""),
    "one of a gang that needs two": (commit("ABC", minimum=2), "B", "AC"),
    "two of a gang that needs two": (commit("ABC", minimum=2), "BC", ""),
    "one of a gang that has its minimum": (commit("ABC", minimum=5, bound=5), "B", "AC"),
    "a pod alone": (commit("A", minimum=1), "A", ""),
}


@pytest.mark.parametrize(("given", "failing", "bound"), PREPARATIONS.values(), ids=PREPARATIONS)
async def test_gang_is_bound_whole_or_not_at_all(given: Commit, failing: str, bound: str) -> None:
    calls: list[str] = []
    observer, client = Observer(), RecordingClient(calls)
    async with working(client, observer, SlowPlugin(calls, failing)) as crew:
        crew.submit(given)
        await until(lambda: observer.commits)
        assert (crew.waiting, crew.preparing) == (0, 0)
    assert sorted(client.bound) == sorted(bound)
    assert {name for name, result in observer.results.items() if result.outcome is Outcome.DONE} == set(bound)
    begun = {name for name in "ABC" if f"+{name}" in calls}
    assert {name for name in begun if f"-{name}" in calls} == begun - set(bound)
    assert {name for name in begun if f"={name}" in calls} == begun & set(bound)


async def test_no_member_is_bound_before_all_are_prepared() -> None:
    calls: list[str] = []
    observer, step = Observer(), SlowPlugin(calls)
    step.gate.clear()
    async with working(RecordingClient(calls), observer, step) as crew:
        crew.submit(commit("AbC"))
        await until(lambda: len(calls) == 2)
        assert (crew.waiting, crew.preparing) == (3, 3)
        step.gate.set()
        await until(lambda: observer.commits)
    assert sorted(calls[:2]) == ["+A", "+C"]
    assert [each for each in calls if each.startswith("bind")] == ["bind A", "bind b", "bind C"]


async def test_commit_waiting_for_volumes_does_not_block_others() -> None:
    calls: list[str] = []
    observer, step = Observer(), SlowPlugin(calls)
    step.gate.clear()
    async with working(RecordingClient(calls), observer, step, workers=1) as crew:
        crew.submit(commit("AB"))
        crew.submit(commit("cd"))
        await until(lambda: len(observer.commits) == 1)
        assert list(observer.results) == ["c", "d"]
        step.gate.set()
        await until(lambda: len(observer.commits) == 2)


async def test_one_failure_cancels_the_preparation_of_the_others() -> None:
    calls: list[str] = []
    observer, step = Observer(), SlowPlugin(calls, failing="B")
    step.gate.clear()
    async with working(RecordingClient(calls), observer, step) as crew:
        crew.submit(commit("ABC"))
        await until(lambda: observer.commits)
    assert observer.results["B"].problem == "there is no volume"
    assert observer.results["A"].problem == "another member of the gang cannot be bound: there is no volume"
    assert {"-A", "-B", "-C"} <= set(calls)


#: The answer to the binding, and the end of the preparation.
ENDINGS: dict[str, tuple[list[object], Outcome, str]] = {
    "bound": ([None], Outcome.DONE, "="),
    "refused": ([INVALID], Outcome.IMPOSSIBLE, "-"),
    "unknown": ([LOST], Outcome.UNKNOWN, "?"),
}


@pytest.mark.parametrize(("binds", "outcome", "end"), ENDINGS.values(), ids=ENDINGS)
async def test_preparation_is_rolled_back_when_the_pod_is_not_bound(
    binds: list[object], outcome: Outcome, end: str
) -> None:
    calls: list[str] = []
    observer = Observer()
    async with working(RecordingClient(calls, bind=binds), observer, SlowPlugin(calls)) as crew:
        crew.submit(commit("A"))
        await until(lambda: observer.commits)
    assert observer.results["A"].outcome is outcome
    assert [calls[0], calls[-1]] == ["+A", f"{end}A"]


async def test_precondition_error_during_preparation_counts() -> None:
    calls: list[str] = []
    observer, step = Observer(), SlowPlugin(calls)
    step.gate.clear()
    async with working(RecordingClient(calls), observer, step) as crew:
        crew.submit(commit("AB"))
        await until(lambda: len(calls) == 2)
        observer.errors["B"] = "node node-a was cordoned"
        step.gate.set()
        await until(lambda: observer.commits)
    assert sorted(calls[2:]) == ["-A", "-B"]
    assert "was cordoned" in observer.results["A"].problem


async def test_stopping_drops_unprepared_commits_and_keeps_their_preparations() -> None:
    calls: list[str] = []
    observer, step = Observer(), SlowPlugin(calls)
    step.gate.clear()
    async with working(RecordingClient(calls), observer, step) as crew:
        crew.submit(commit("AB"))
        await until(lambda: len(calls) == 2)
        assert await crew.drain(30.0) == 0
    assert {result.outcome for result in observer.results.values()} == {Outcome.DROPPED}
    assert sorted(calls) == ["+A", "+B", "?A", "?B"]


async def test_failed_rollback_is_reported() -> None:
    calls: list[str] = []
    observer = Observer()
    async with working(RecordingClient(calls), observer, SlowPlugin(calls, failing="A", sticky="A")) as crew:
        crew.submit(commit("A"))
        await until(lambda: observer.commits)
    assert observer.results["A"].problem == "there is no volume; slow could not be undone: it sticks"
