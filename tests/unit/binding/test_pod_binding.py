"""What every answer to a binding means, and what becomes of preparations."""

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
    IMPATIENT,
    INVALID,
    LOST,
    MISSING,
    NOT_SENT,
    PLACEMENT,
    Scripted,
    found,
)

DONE, IMPOSSIBLE, UNKNOWN = Outcome.DONE, Outcome.IMPOSSIBLE, Outcome.UNKNOWN
OURS, THEIRS = found("node-a"), found("node-b")

#: The answers to binds, the answer to reading the pod, what came of it, a word of the problem, and how many binds.
ANSWERS: dict[str, tuple[list[Any], Any, Outcome, str, int]] = {
    "bound": ([None], None, DONE, "", 1),
    "bound before, to the same node": ([CONFLICT], OURS, DONE, "", 1),
    "bound by somebody else": ([CONFLICT], THEIRS, IMPOSSIBLE, "another writer bound the pod to node node-b", 1),
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


@pytest.mark.parametrize(("binds", "pod", "outcome", "words", "times"), ANSWERS.values(), ids=ANSWERS)
async def test_an_answer_means(binds: list[Any], pod: Any, outcome: Outcome, words: str, times: int) -> None:
    client = Scripted(bind=[*binds], get=[pod])
    result = await PodBinder(client, retry=IMPATIENT).bind(PLACEMENT)  # type: ignore[arg-type]
    assert (result.outcome, client.asked.count("bind")) == (outcome, times)
    assert words in result.problem


class Step:
    """Writes down what it does; fails where it is told to."""

    def __init__(self, name: str, story: list[str], fails: Exception | None = None, stays: bool = False) -> None:
        self.name = name
        self._story = story
        self._fails = fails
        self._stays = stays

    async def prepare(self, placement: Placement) -> None:
        self._story.append(f"+{self.name}")
        if self._fails is not None:
            raise self._fails

    async def undo(self, placement: Placement) -> None:
        self._story.append(f"-{self.name}")
        if self._stays:
            raise RuntimeError("it sticks")


#: The answer to the binding, which step fails and how, and the story.
STORIES: dict[str, tuple[list[Any], Exception | None, Outcome, str]] = {
    "all goes well": ([None], None, DONE, "+a +b +c"),
    "a step says no": ([None], StepFailed("no such volume"), IMPOSSIBLE, "+a +b -b -a"),
    "a step gets no answer": ([None], BROKEN, IMPOSSIBLE, "+a +b -b -a"),
    "the binding is refused": ([INVALID], None, IMPOSSIBLE, "+a +b +c -c -b -a"),
    "nobody knows whether it was bound": ([LOST], None, UNKNOWN, "+a +b +c"),
}


@pytest.mark.parametrize(("binds", "failure", "outcome", "expected"), STORIES.values(), ids=STORIES)
async def test_steps_are_undone_in_reverse(
    binds: list[Any], failure: Exception | None, outcome: Outcome, expected: str
) -> None:
    story: list[str] = []
    steps = [Step("a", story), Step("b", story, failure), Step("c", story)]
    result = await PodBinder(Scripted(bind=[*binds]), steps, IMPATIENT).bind(PLACEMENT)  # type: ignore[arg-type]
    assert (result.outcome, " ".join(story)) == (outcome, expected)


async def test_failed_undo_is_reported_and_does_not_stop_the_others() -> None:
    story: list[str] = []
    steps = [Step("a", story), Step("b", story, stays=True), Step("c", story)]
    result = await PodBinder(Scripted(bind=[INVALID]), steps, IMPATIENT).bind(PLACEMENT)  # type: ignore[arg-type]
    assert story[3:] == ["-c", "-b", "-a"]
    assert "b could not be undone: RuntimeError: it sticks" in result.problem
