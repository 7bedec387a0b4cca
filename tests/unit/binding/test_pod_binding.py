"""The meaning of every response to a binding, and the rollback of steps."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.binding.orders import Outcome
from stromboli.binding.pod_binding import PodBinder
from stromboli.binding.steps.step import StepFailed
from stromboli.core.model.tasks.placement import Placement
from tests.unit.binding.scripted_client import (
    BROKEN,
    BUSY,
    CONFLICT,
    FORBIDDEN,
    GATEWAY,
    INVALID,
    LOST,
    MISSING,
    NO_DELAY,
    NOT_SENT,
    PLACEMENT,
    ScriptedClient,
    found,
)

DONE, IMPOSSIBLE, UNKNOWN = Outcome.DONE, Outcome.IMPOSSIBLE, Outcome.UNKNOWN
OURS, THEIRS = found("node-a"), found("node-b")

#: The answers to binds, the answer to reading the pod, what came of it, a word of the problem, and how many binds.
ANSWERS: dict[str, tuple[list[Any], Any, Outcome, str, int]] = {
    "bound": ([None], None, DONE, "", 1),
    "bound before, to the same node": ([CONFLICT], OURS, DONE, "", 1),
    "bound by another writer": ([CONFLICT], THEIRS, IMPOSSIBLE, "another writer bound the pod to node node-b", 1),
    "another pod of that name": ([CONFLICT], found("", "uid-2"), IMPOSSIBLE, "another pod has its name", 1),
    "being deleted, or gated": ([CONFLICT], found(), IMPOSSIBLE, "it cannot be bound", 1),
    "gone after a conflict": ([CONFLICT], MISSING, IMPOSSIBLE, "the pod is gone", 1),
    "a conflict that cannot be looked into": ([CONFLICT], BROKEN, UNKNOWN, "oops", 1),
    "a conflict, and then silence": ([CONFLICT], LOST, UNKNOWN, "cut", 1),
    "gone": ([MISSING], None, IMPOSSIBLE, "no such pod", 1),
    "found invalid": ([INVALID], None, IMPOSSIBLE, "that is no node", 1),
    "forbidden": ([FORBIDDEN], None, IMPOSSIBLE, "you may not", 1),
    "busy, then bound": ([BUSY, None], None, DONE, "", 2),
    "always busy": ([BUSY], None, UNKNOWN, "later", 3),
    "broken, then bound": ([BROKEN, GATEWAY, None], None, DONE, "", 3),
    "always broken": ([BROKEN], None, UNKNOWN, "oops", 3),
    "done, and the answer lost": ([LOST, CONFLICT], OURS, DONE, "", 2),
    "not done, and the answer lost": ([LOST, None], None, DONE, "", 2),
    "never reached": ([NOT_SENT], None, UNKNOWN, "no connection", 3),
}


@pytest.mark.parametrize(("binds", "pod", "outcome", "message", "times"), ANSWERS.values(), ids=ANSWERS)
async def test_an_answer_means(binds: list[Any], pod: Any, outcome: Outcome, message: str, times: int) -> None:
    client = ScriptedClient(bind=[*binds], get=[pod])
    result = await PodBinder(client, retry=NO_DELAY).bind(PLACEMENT)  # type: ignore[arg-type]
    assert (result.outcome, client.asked.count("bind")) == (outcome, times)
    assert message in result.problem


class Step:
    """Records calls, and fails if configured."""

    def __init__(self, name: str, calls: list[str], fails: Exception | None = None, stays: bool = False) -> None:
        self.name = name
        self._calls = calls
        self._fails = fails
        self._stays = stays

    async def prepare(self, placement: Placement) -> None:
        self._calls.append(f"+{self.name}")
        if self._fails is not None:
            raise self._fails

    async def undo(self, placement: Placement) -> None:
        self._calls.append(f"-{self.name}")
        if self._stays:
            raise RuntimeError("it sticks")


#: The answer to the binding, which step fails and how, and the calls.
STEP_CASES: dict[str, tuple[list[Any], Exception | None, Outcome, str]] = {
    "all goes well": ([None], None, DONE, "+a +b +c"),
    "a step fails": ([None], StepFailed("no such volume"), IMPOSSIBLE, "+a +b -b -a"),
    "a step gets no answer": ([None], BROKEN, IMPOSSIBLE, "+a +b -b -a"),
    "the binding is refused": ([INVALID], None, IMPOSSIBLE, "+a +b +c -c -b -a"),
    "the outcome is unknown": ([LOST], None, UNKNOWN, "+a +b +c"),
}


@pytest.mark.parametrize(("binds", "failure", "outcome", "expected"), STEP_CASES.values(), ids=STEP_CASES)
async def test_steps_are_undone_in_reverse(
    binds: list[Any], failure: Exception | None, outcome: Outcome, expected: str
) -> None:
    calls: list[str] = []
    steps = [Step("a", calls), Step("b", calls, failure), Step("c", calls)]
    result = await PodBinder(ScriptedClient(bind=[*binds]), steps, NO_DELAY).bind(PLACEMENT)  # type: ignore[arg-type]
    assert (result.outcome, " ".join(calls)) == (outcome, expected)


async def test_failed_undo_is_reported_and_does_not_stop_the_others() -> None:
    calls: list[str] = []
    steps = [Step("a", calls), Step("b", calls, stays=True), Step("c", calls)]
    result = await PodBinder(ScriptedClient(bind=[INVALID]), steps, NO_DELAY).bind(PLACEMENT)  # type: ignore[arg-type]
    assert calls[3:] == ["-c", "-b", "-a"]
    assert "b could not be undone: RuntimeError: it sticks" in result.problem
